import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Spool, type SpooledCapture } from "../src/bridge/spool.ts";
import { Unavailable } from "../src/client.ts";
import { clientOf, FakeBridge, folder, Refusal, SILENCE, turn, until } from "./fake.ts";

const STEM = "spool-37a8eec1ce19687d";
const lines = (home: string): string[] => readdirSync(home).filter((name) => name.endsWith(".jsonl")).sort();
const parsed = (home: string): Record<string, unknown>[] =>
  lines(home).map((name) => JSON.parse(readFileSync(join(home, name), "utf8")) as Record<string, unknown>);
const capture = (key: string, more: Partial<SpooledCapture> = {}): SpooledCapture => {
  const params = { key, messages: [{ role: "user", content: key, timestamp: 1 }] };
  return { namespace: "default", key, local: false, at_ms: 1_700_000_000_000, params, ...more };
};
const all = (): boolean => true;

test("a capture without a bridge is spooled: with its key, its identity and a time on every message", async (t) => {
  const home = folder(t);
  const client = clientOf(t, home, { identity: { user_id: "ana" }, local: true });
  const before = Date.now();
  const stamped = { role: "assistant", content: "ok", timestamp: "2026-01-01T00:00:00Z" };
  const answer = await client.capture({ messages: [{ role: "user", content: "hi" }, stamped] });
  assert.ok(answer.spooled);
  assert.match(answer.reason, /no bridge at/);
  const [name] = lines(home);
  assert.match(name ?? "", new RegExp(`^${STEM}\\.node-\\d{15}-\\d{6}-${process.pid}-[0-9a-f]{8}\\.jsonl$`));
  assert.equal(statSync(join(home, name ?? "")).mode & 0o777, 0o600);
  const [line] = parsed(home);
  const at = line?.["at_ms"] as number;
  assert.ok(at >= before && at <= Date.now());
  assert.deepEqual(line, {
    v: 1,
    namespace: "default",
    key: answer.key,
    local: true,
    at_ms: at,
    params: {
      messages: [{ role: "user", content: "hi", timestamp: at }, stamped],
      identity: { user_id: "ana" },
      key: answer.key,
    },
  });
  assert.match(answer.key, /^[0-9a-f]{32}$/);
});

test("what was spooled is delivered when a bridge is there, oldest first, and before what comes next (PUB-87)", async (t) => {
  const home = folder(t);
  const heard: string[] = [];
  const log = (_level: string, message: string): void => void heard.push(message);
  const client = clientOf(t, home, { log }, { pauseMs: 1, pauseMsMax: 1 });
  for (const text of ["one", "two", "three"]) assert.ok((await client.capture(turn(text))).spooled);
  assert.equal(client.state().spool?.pending, 3);
  assert.equal(client.state().status, "degraded");
  assert.match(client.state().reason ?? "", /no bridge/);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  await until(() => (client.state().retryAtMs ?? 0) <= Date.now());
  const result = await client.capture(turn("four"));
  assert.equal(result.spooled, undefined);
  const texts = bridge.asked("memory.capture").map(({ params }) => (params["messages"] as { content: string }[])[0]?.content);
  assert.deepEqual(texts, ["one", "two", "three", "four"]);
  await until(() => lines(home).length === 0);
  assert.deepEqual([client.state().spool?.pending, client.state().spool?.replayed], [0, 3]);
  assert.ok(heard.some((message) => message.includes("3 spooled turns were delivered")), heard.join("\n"));
});

test("a capture that was not answered in time is spooled and sent again with the same body (PUB-86)", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  const answers = bridge.scripts.get("memory.capture");
  bridge.scripts.set("memory.capture", () => SILENCE);
  const client = clientOf(t, home);
  assert.ok((await client.capture(turn("slow"), { timeoutMs: 40 })).spooled);
  if (answers) bridge.scripts.set("memory.capture", answers);
  bridge.drop();
  await client.call("memory.search", { query: "x" });
  const [first, second] = await bridge.arrived("memory.capture", 2);
  assert.deepEqual(second?.params, first?.params);
  await until(() => lines(home).length === 0);
});

test("a capture whose connection broke is sent again with the same key", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  let times = 0;
  bridge.scripts.set("memory.capture", () => {
    times += 1;
    if (times === 1) bridge.drop();
    return times === 1 ? SILENCE : { stored: 1 };
  });
  const client = clientOf(t, home);
  assert.deepEqual(await client.capture(turn("x")), { stored: 1 });
  const [first, second] = bridge.asked("memory.capture");
  assert.deepEqual(second?.params, first?.params);
});

test("a capture that the bridge refuses for good is the caller's, one that it cannot store now is spooled", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  const client = clientOf(t, home);
  const refusing = async (code: number, data = {}): Promise<string> => {
    bridge.scripts.set("memory.capture", () => {
      throw new Refusal(code, data);
    });
    const kept = lines(home).length;
    const fate = await client.capture(turn("x")).then(({ spooled }) => (spooled ? "spooled" : "stored"), (e) => e.name);
    assert.equal(lines(home).length - kept, fate === "spooled" ? 1 : 0);
    return fate as string;
  };
  assert.equal(await refusing(-32602, { path: "params.messages[0].role" }), "CallError");
  assert.equal(await refusing(-32005), "CallError");
  assert.equal(await refusing(-32004), "CallError");
  assert.equal(await refusing(-32602, { kind: "config" }), "spooled");
  assert.equal(await refusing(-32007, { kind: "full" }), "spooled");
  assert.equal(await refusing(-32603, { incident: "i1" }), "spooled");
});

test("a capture that its caller cancels is neither sent again nor spooled", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  bridge.scripts.set("memory.capture", () => SILENCE);
  const client = clientOf(t, home);
  const caller = new AbortController();
  const capturing = client.capture(turn("x"), { signal: caller.signal });
  await bridge.arrived("memory.capture");
  caller.abort();
  await assert.rejects(capturing, { name: "CallError", code: -32800 });
  assert.deepEqual(lines(home), []);
});

test("closing lets a capture finish or spools it", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  bridge.scripts.set("memory.capture", () => SILENCE);
  const client = clientOf(t, home);
  const capturing = client.capture(turn("x"));
  await bridge.arrived("memory.capture");
  await client.close();
  assert.ok((await capturing).spooled);
  assert.equal(lines(home).length, 1);
});

test("without a spool a capture that cannot be delivered is unavailable", async (t) => {
  const home = folder(t);
  await assert.rejects(clientOf(t, home, { spool: false }).capture(turn("x")), Unavailable);
  assert.deepEqual(readdirSync(home), []);
});

test("a capture refused for good at its replay is set aside, and those behind it are delivered", async (t) => {
  const home = folder(t);
  const spool = new Spool(join(home, STEM));
  for (const key of ["a", "b", "c", "d", "e"]) await spool.append(capture(key));
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  const answers: Record<string, Refusal> = {
    a: new Refusal(-32602, { path: "params.messages" }),
    b: new Refusal(-32005),
    c: new Refusal(-32603),
    d: new Refusal(-32602, { path: "params.key" }),
  };
  bridge.scripts.set("memory.capture", ({ params }) => {
    const answer = answers[String(params["key"])];
    if (answer) throw answer;
    return { stored: 1 };
  });
  const client = clientOf(t, home);
  await client.call("memory.search", { query: "x" });
  await bridge.arrived("memory.capture", 5);
  await until(() => lines(home).length === 1);
  await until(() => client.state().spool?.pending === 1);
  assert.deepEqual(parsed(home).map(({ key }) => key), ["c"]);
  const { replayed, rejected } = client.state().spool ?? {};
  assert.deepEqual([replayed, rejected], [2, 2]);
  assert.equal(readdirSync(home).filter((name) => name.endsWith(".rejected")).length, 2);
});

test("a bridge that cannot store now ends the replay, and nothing is lost or out of order", async (t) => {
  const home = folder(t);
  const spool = new Spool(join(home, STEM));
  for (const key of ["a", "b", "c"]) await spool.append(capture(key));
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  bridge.scripts.set("memory.capture", () => {
    throw new Refusal(-32007, { kind: "busy", retryable: true });
  });
  const client = clientOf(t, home);
  await client.call("memory.search", { query: "x" });
  await bridge.arrived("memory.capture");
  await client.close();
  assert.deepEqual(bridge.asked("memory.capture").map(({ params }) => params["key"]), ["a"]);
  assert.deepEqual([lines(home).length, client.state().spool?.pending], [3, 3]);
});

test("captures of another namespace, another kind of connection, a later version are left where they are", async (t) => {
  const home = folder(t);
  const spool = new Spool(join(home, STEM));
  await spool.append(capture("other", { namespace: "x" }));
  await spool.append(capture("local", { local: true }));
  await spool.append(capture("mine"));
  writeFileSync(join(home, `${STEM}.node-000000000000001-000001-1-00000000.jsonl`), '{"v":2}\n');
  writeFileSync(join(home, `${STEM}.jsonl`), "python's\n");
  writeFileSync(join(home, "spool-0000000000000000.node-1.jsonl"), "another namespace's\n");
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  const client = clientOf(t, home);
  await client.call("memory.search", { query: "x" });
  await until(() => client.state().spool?.replayed === 1);
  assert.deepEqual(bridge.asked("memory.capture").map(({ params }) => params["key"]), ["mine"]);
  assert.equal(lines(home).length, 5);
  assert.equal(readFileSync(join(home, `${STEM}.jsonl`), "utf8"), "python's\n");
});

test("a file that holds no capture is set aside", async (t) => {
  const home = folder(t);
  writeFileSync(join(home, `${STEM}.node-000000000000001-000001-1-00000000.jsonl`), '{"v":1,"par');
  const spool = new Spool(join(home, STEM));
  await spool.replay(all, () => assert.fail("nothing to deliver"));
  assert.deepEqual(readdirSync(home), [`${STEM}.node-000000000000001-000001-1-00000000.rejected`]);
});

test("two that replay at once deliver everything, and neither fails on what the other took", async (t) => {
  const home = folder(t);
  const [one, two] = [new Spool(join(home, STEM)), new Spool(join(home, STEM))];
  const keys = Array.from({ length: 20 }, (_, n) => `k${String(n).padStart(2, "0")}`);
  for (const key of keys) await one.append(capture(key));
  const delivered: string[] = [];
  const deliver = async ({ key }: SpooledCapture): Promise<"delivered"> => {
    delivered.push(key);
    return "delivered";
  };
  await Promise.all([one.replay(all, deliver), two.replay(all, deliver)]);
  assert.deepEqual([...new Set(delivered)].sort(), keys);
  assert.deepEqual(readdirSync(home), []);
});

test("what is appended during a replay is not lost", async (t) => {
  const home = folder(t);
  const [reader, writer] = [new Spool(join(home, STEM)), new Spool(join(home, STEM))];
  await writer.append(capture("a"));
  await reader.replay(all, async () => {
    await writer.append(capture("b", { at_ms: 1 }));
    return "delivered";
  });
  assert.deepEqual(parsed(home).map(({ key }) => key), ["b"]);
});

test("a full spool refuses the newest, says so, and keeps the rest", async (t) => {
  const home = folder(t);
  const spool = new Spool(join(home, STEM), 300);
  await spool.append(capture("a"));
  await assert.rejects(spool.append(capture("x".repeat(300))), /the spool is full/);
  assert.deepEqual([spool.counts.pending, spool.counts.full], [1, 1]);
  assert.deepEqual(parsed(home).map(({ key }) => key), ["a"]);
  // The bound is of all processes: another writer sees what this one wrote.
  await assert.rejects(new Spool(join(home, STEM), 300).append(capture("y".repeat(200))), Unavailable);
});

test("a folder that cannot be written is reported, and leaves no draft", async (t) => {
  const home = folder(t);
  writeFileSync(join(home, "file"), "");
  const spool = new Spool(join(home, "file", STEM));
  await assert.rejects(spool.append(capture("a")), /could not be spooled \((ENOTDIR|EEXIST)\)/);
  assert.equal(spool.counts.failed, 1);
});

test("a draft that a crash left is no capture, and is removed when it is old", async (t) => {
  const home = folder(t);
  mkdirSync(home, { recursive: true });
  const [fresh, old] = ["1", "2"].map((n) => join(home, `${STEM}.node-00000000000000${n}-000001-1-0000000${n}.tmp`));
  for (const path of [fresh, old]) writeFileSync(path ?? "", "torn");
  utimesSync(old ?? "", 1000, 1000);
  const spool = new Spool(join(home, STEM));
  await spool.replay(all, () => assert.fail("nothing to deliver"));
  assert.deepEqual(readdirSync(home).map((name) => join(home, name)), [fresh]);
});

test("half of a surrogate pair in a spooled turn is repaired, and a namespace with one finds its spool again", async (t) => {
  const home = folder(t);
  const namespace = `n${"\u{1F600}".slice(0, 1)}`;
  const client = clientOf(t, home, { namespace }, { pauseMs: 1, pauseMsMax: 1 });
  await client.capture(turn(`cut ${"\u{1F600}".slice(0, 1)}`));
  assert.match(JSON.stringify(parsed(home)), /cut \ufffd/);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  const next = clientOf(t, home, { namespace });
  await next.call("memory.search", { query: "x" });
  await bridge.arrived("memory.capture");
  await until(() => lines(home).length === 0);
});
