import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { FakeBridge, folder, SILENCE } from "./fake.ts";

const CLIENT = new URL("../src/client.js", import.meta.url).href;

/** What a host program of its own does with a client: its exit code and output. It is killed after 10 s. */
function host(t: TestContext, home: string, body: string): Promise<{ code: number | null; out: string; err: string }> {
  const script = join(folder(t), "host.mjs");
  const options = `{ namespace: "default", name: "host", version: "0", home: ${JSON.stringify(home)}, spawn: false }`;
  writeFileSync(script, `import { BridgeClient } from ${JSON.stringify(CLIENT)};\nconst options = ${options};\n${body}`);
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [script], { timeout: 10_000, cwd: fileURLToPath(new URL(".", import.meta.url)) }, (error, out, err) => {
      resolve({ code: error === null ? 0 : ((error.code as unknown as number) ?? null), out, err });
    });
    child.stdin?.end();
  });
}

test("a client that nobody closed keeps no host alive", async (t) => {
  const home = folder(t);
  await FakeBridge.listening(t, join(home, "bridge.sock"));
  const body = `const client = new BridgeClient(options); await client.call("memory.search"); console.log("done");`;
  const { code, out } = await host(t, home, body);
  assert.deepEqual([code, out], [0, "done\n"]);
});

test("a turn that a host hands over in passing as it ends is spooled, not lost", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  bridge.scripts.set("memory.capture", () => SILENCE);
  const body = `void new BridgeClient(options).capture({ messages: [{ role: "user", content: "x" }] }, { timeoutMs: 100 });`;
  const { code, err } = await host(t, home, body);
  assert.deepEqual([code, err], [0, ""]);
  assert.equal(readdirSync(home).filter((name) => name.endsWith(".jsonl")).length, 1);
});

test("a bridge that dies while it is written to brings no host down (PUB-83)", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  bridge.scripts.set("memory.search", () => (bridge.drop(), SILENCE));
  const body = `
    const client = new BridgeClient({ ...options, onRequest: async () => ({ text: "x" }) });
    const failures = new Set();
    for (let n = 0; n < 30; n += 1) {
      const query = "x".repeat(200_000);
      await client.call("memory.search", { query }, { timeoutMs: 300 }).catch((error) => failures.add(error.name));
    }
    for (let n = 0; n < 5; n += 1) void client.capture({ messages: [{ role: "user", content: "x" }] });
    client.capture({ messages: 1n });
    await client.close();
    console.log([...failures].join());`;
  const { code, out, err } = await host(t, home, body);
  assert.deepEqual([code, out, err], [0, "Unavailable\n", ""]);
});

test("a client that cannot even place its files fails calls, not the host", async (t) => {
  const body = `
    const client = new BridgeClient({ ...options, home: "/dev/null/x", spawn: true, command: "/nowhere" });
    console.log(client.state().status);
    await client.call("memory.search").catch((error) => console.log(error.name));
    await client.capture({ messages: [] }).catch((error) => console.log(error.name));
    console.log(client.state().status, client.state().spool.failed);
    await client.close();`;
  const { code, out, err } = await host(t, folder(t), body);
  assert.deepEqual([code, out, err], [0, "idle\nUnavailable\nUnavailable\ndegraded 1\n", ""]);
});
