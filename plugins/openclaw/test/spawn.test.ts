import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { takeSpawnLock } from "../src/bridge/spawn.ts";
import { BridgeClient, type BridgeOptions, type BridgeState, CallTimeout, type Timing, Unavailable } from "../src/client.ts";
import { clientOf, FakeBridge, folder, turn, until } from "./fake.ts";

const DAEMON = fileURLToPath(new URL("./fake_daemon.js", import.meta.url));

interface Place {
  readonly home: string;
  readonly socket: string;
  /** Pids of all bridges that were started here. */
  starts(): number[];
  client(options?: Partial<BridgeOptions>, timing?: Partial<Timing>): BridgeClient;
}

function place(t: TestContext, mode = ""): Place {
  const home = folder(t);
  const socket = join(home, "bridge.sock");
  const starts = (): number[] => {
    const notes = existsSync(`${socket}.starts`) ? readFileSync(`${socket}.starts`, "utf8") : "";
    return notes.split("\n").filter(Boolean).map(Number);
  };
  t.after(() => starts().filter(isAlive).forEach((pid) => process.kill(pid, "SIGKILL")));
  const own = { PATH: process.env["PATH"], OCTOP_BRIDGE_TEST: mode, SECRET: "x", WANTED: "y" };
  const client = (options: Partial<BridgeOptions> = {}, timing: Partial<Timing> = {}): BridgeClient => {
    return clientOf(t, home, { spawn: true, command: [process.execPath, DAEMON], env: own, ...options }, timing);
  };
  return { home, socket, starts, client };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const failure = (work: Promise<unknown>): Promise<Error> => work.then(() => assert.fail("it answered"), (e) => e as Error);

test("the first call starts a bridge, detached, with an environment of its own", async (t) => {
  const { home, socket, starts, client } = place(t);
  const first = client({ passEnv: ["WANTED"], config: "/etc/ob.toml" });
  assert.deepEqual(await first.call("memory.search", { query: "x" }), { hits: [], query: "x" });
  assert.equal(starts().length, 1);
  const env = JSON.parse(readFileSync(`${socket}.env`, "utf8")) as Record<string, string>;
  assert.deepEqual([env["SECRET"], env["WANTED"], env["OCTOP_BRIDGE_HOME"]], [undefined, "y", home]);
  const argv = JSON.parse(readFileSync(`${socket}.argv`, "utf8")) as string[];
  assert.deepEqual(argv, ["serve", "--socket", socket, "--config", "/etc/ob.toml"]);
  assert.equal(statSync(join(home, "bridge.log")).mode & 0o777, 0o600);
  await first.close();
  assert.ok(isAlive(starts()[0] ?? 0), "it outlives its client");
  assert.ok(!existsSync(`${socket}.spawn.node.lock`));
});

test("a store's file of its own is served by a bridge of its own", async (t) => {
  const { home, starts, client } = place(t);
  const db = join(home, "bridge"); // so that the notes lie where this test looks for them
  await client({ db }).call("memory.search");
  assert.equal(starts().length, 1);
  const argv = JSON.parse(readFileSync(join(home, "bridge.sock.argv"), "utf8")) as string[];
  assert.deepEqual(argv.slice(-2), ["--db", db]);
});

test("many clients that start at once have one bridge (PUB-88)", async (t) => {
  const { starts, client } = place(t);
  const clients = Array.from({ length: 6 }, () => client());
  const answers = await Promise.all(clients.map((one) => one.call<{ pid: number }>("bridge.status")));
  assert.equal(new Set(answers.map(({ pid }) => pid)).size, 1);
  assert.equal(starts().length, 1);
});

test("20 reloads of a plugin leave at most one bridge alive (PUB-91)", async (t) => {
  const { starts, client } = place(t);
  for (let n = 0; n < 20; n += 1) {
    const one = client();
    await one.call("memory.search");
    await one.close();
  }
  assert.equal(starts().length, 1);
  assert.equal(starts().filter(isAlive).length, 1);
});

test("a bridge that is killed between two calls is replaced, and the host lives (PUB-83)", async (t) => {
  const { starts, client } = place(t);
  const one = client();
  const before = await one.call<{ pid: number }>("bridge.status");
  process.kill(before.pid, "SIGKILL");
  await until(() => one.state().status === "idle");
  const after = await one.call<{ pid: number }>("bridge.status");
  assert.notEqual(after.pid, before.pid);
  assert.equal(starts().length, 2);
});

test("a bridge that dies at every call is not started again and again (PUB-88)", async (t) => {
  const { starts, client } = place(t, "mortal");
  const one = client();
  const states: BridgeState[] = [];
  for (let n = 0; n < 12; n += 1) {
    await failure(one.call("memory.search", {}, { timeoutMs: 4000 }));
    states.push(one.state());
  }
  assert.ok(starts().length <= 4, `${starts().length} starts`);
  assert.equal(states.at(-1)?.status, "degraded");
  assert.match(states.at(-1)?.reason ?? "", /keeps failing/);
});

test("a bridge that cannot start is tried three times, then calls fail at once, then pauses grow (PUB-88)", async (t) => {
  const { starts, client, home } = place(t, "fail");
  const one = client({}, { pauseMs: 150, pauseMsMax: 400 });
  const first = await failure(one.call("memory.search"));
  assert.ok(first instanceof Unavailable);
  assert.match(first.reason, /ended with exit code 7 before it listened; see .*bridge\.log/);
  assert.equal(starts().length, 3);
  const { status, retryAtMs, reason } = one.state();
  assert.deepEqual([status, reason], ["degraded", first.reason]);
  const began = performance.now();
  const second = await failure(one.call("memory.search"));
  assert.ok(second instanceof Unavailable);
  assert.equal(second.retryAtMs, retryAtMs);
  assert.ok(performance.now() - began < 50);
  assert.equal(starts().length, 3);
  await until(() => Date.now() >= (one.state().retryAtMs ?? 0));
  const again = await failure(one.call("memory.search"));
  assert.equal(starts().length, 4, "one try after a pause");
  const pause = ((again as Unavailable).retryAtMs ?? 0) - Date.now();
  assert.ok(pause > 150 && pause <= 300, `a pause of ${pause} ms`);
  assert.match(readFileSync(join(home, "bridge.log"), "utf8"), /no such setting/);
});

test("a missing program is named, and not looked for by every call (PUB-92)", async (t) => {
  const { client } = place(t);
  const one = client({ command: "/nowhere/octop-bridge" });
  const error = await failure(one.call("memory.search"));
  assert.match(error.message, /the configured command is \/nowhere\/octop-bridge, which cannot be run/);
  assert.equal(one.state().status, "degraded");
  assert.ok((await one.capture(turn("x"))).spooled);
});

test("a bridge that never listens costs a caller its deadline, and a start its own", async (t) => {
  const { client, starts } = place(t, "mute");
  const one = client({}, { startMs: 400, backoffMs: [] });
  const began = performance.now();
  assert.match((await failure(one.call("memory.search", {}, { timeoutMs: 60 }))).message, /not ready within 60 ms/);
  assert.ok(performance.now() - began < 350);
  await until(() => one.state().status === "degraded");
  assert.match(one.state().reason ?? "", /was started and did not listen within 400 ms/);
  assert.equal(starts().length, 1);
});

test("a bridge stopped by a signal costs a caller its deadline, and works on when it is let go", async (t) => {
  const { client } = place(t);
  const one = client();
  const { pid } = await one.call<{ pid: number }>("bridge.status");
  process.kill(pid, "SIGSTOP");
  assert.ok((await failure(one.call("memory.search", {}, { timeoutMs: 60 }))) instanceof CallTimeout);
  assert.ok((await one.capture(turn("x"), { timeoutMs: 60 })).spooled);
  process.kill(pid, "SIGCONT");
  assert.equal((await one.call<{ pid: number }>("bridge.status")).pid, pid);
});

test("a leaving bridge that holds its lock a moment longer is waited for", async (t) => {
  const { client, starts, socket } = place(t);
  writeFileSync(`${socket}.daemon.lock`, "1");
  const one = client();
  const calling = one.call("memory.search", { query: "x" });
  await until(() => starts().length === 1);
  await until(() => !isAlive(starts()[0] ?? 0));
  rmSync(`${socket}.daemon.lock`);
  assert.deepEqual(await calling, { hits: [], query: "x" });
  assert.equal(starts().length, 2);
});

test("a client that may not start one takes a bridge that is there, and else says what it wants", async (t) => {
  const { socket, starts, client } = place(t);
  const one = client({ spawn: false }, { pauseMs: 1, pauseMsMax: 1 });
  assert.match((await failure(one.call("memory.search"))).message, /no bridge at .*bridge\.sock.*may not start one/);
  await FakeBridge.listening(t, socket);
  await until(() => (one.state().retryAtMs ?? 0) < Date.now());
  await one.call("memory.search");
  assert.equal(starts().length, 0);
});

test("closing during a start starts nothing more", async (t) => {
  const { client, starts } = place(t, "fail");
  const one = client({}, { backoffMs: [200, 200] });
  const calling = failure(one.call("memory.search"));
  await until(() => starts().length === 1);
  await one.close();
  assert.ok((await calling) instanceof Unavailable);
  assert.equal(starts().length, 1);
});

test("a long log is moved aside before a start", async (t) => {
  const { client, home } = place(t);
  writeFileSync(join(home, "bridge.log"), Buffer.alloc(5 * 1024 * 1024 + 1));
  await client().call("memory.search");
  assert.equal(statSync(join(home, "bridge.log.1")).size, 5 * 1024 * 1024 + 1);
  assert.ok(statSync(join(home, "bridge.log")).size < 1024);
});

test("the lock of a start is held by one, and taken over from the dead and the very old only", async (t) => {
  const socket = join(folder(t), "s");
  const path = `${socket}.spawn.node.lock`;
  const first = await takeSpawnLock(socket);
  assert.ok(first);
  assert.equal(await takeSpawnLock(socket), null);
  await first.release();
  assert.ok(!existsSync(path));

  writeFileSync(path, JSON.stringify({ pid: 2 ** 22 + 1, token: "dead" }));
  const second = await takeSpawnLock(socket);
  assert.ok(second, "its maker is dead");
  writeFileSync(path, JSON.stringify({ pid: process.pid, token: "another's" }));
  await second.release();
  assert.ok(existsSync(path), "a lock that was taken over is not ours to remove");
  assert.equal(await takeSpawnLock(socket), null);
  utimesSync(path, 1000, 1000);
  assert.ok(await takeSpawnLock(socket), "older than any start takes");

  writeFileSync(path, "");
  assert.equal(await takeSpawnLock(socket), null, "its maker is about to write it");
  utimesSync(path, Date.now() / 1000 - 5, Date.now() / 1000 - 5);
  assert.ok(await takeSpawnLock(socket), "its maker never wrote it");
});

test("the Python client's lock file, which stays, is no obstacle", async (t) => {
  const { client, socket } = place(t);
  writeFileSync(`${socket}.spawn.lock`, "123");
  await client().call("memory.search");
  assert.equal(readFileSync(`${socket}.spawn.lock`, "utf8"), "123");
});
