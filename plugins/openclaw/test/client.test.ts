import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { type BridgeClient, type BridgeOptions, CallError, CallTimeout, Unavailable } from "../src/client.ts";
import type { Timing } from "../src/client.ts";
import { clientOf, FakeBridge, folder, type Json, Refusal, type Request, SILENCE, until } from "./fake.ts";

interface Pair {
  readonly bridge: FakeBridge;
  readonly client: BridgeClient;
}

async function pair(t: TestContext, options: Partial<BridgeOptions> = {}, timing: Partial<Timing> = {}): Promise<Pair> {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  return { bridge, client: clientOf(t, home, options, timing) };
}

const failure = async (work: Promise<unknown>): Promise<Error & Json> =>
  work.then(
    (value) => assert.fail(`it answered ${JSON.stringify(value)}`),
    (error: unknown) => error as Error & Json,
  );

test("hello is the first request and says who is there; undefined options are not said", async (t) => {
  const { bridge, client } = await pair(t, { namespace: "openclaw.a", local: true, identity: { user_id: "ana" } });
  assert.deepEqual(await client.call("memory.search", { query: "boat" }), { hits: [], query: "boat" });
  const [first] = bridge.seen;
  assert.equal(first?.method, "bridge.hello");
  assert.deepEqual(first?.params, {
    protocol: 1,
    client: { name: "test", version: "0" },
    namespace: "openclaw.a",
    local: true,
    identity: { user_id: "ana" },
  });
  const { status, reason, greeting } = client.state();
  assert.deepEqual([status, reason, greeting?.server.name], ["connected", null, "fake"]);
});

test("nothing is connected before the first call", async (t) => {
  const { bridge, client } = await pair(t);
  assert.equal(client.state().status, "idle");
  assert.equal(bridge.connections, 0);
});

test("calls made at once share one connection and one hello", async (t) => {
  const { bridge, client } = await pair(t);
  await Promise.all([1, 2, 3].map((n) => client.call("memory.search", { query: String(n) })));
  assert.deepEqual([bridge.connections, bridge.asked("bridge.hello").length], [1, 1]);
});

test("replies find their callers in whatever order they come", async (t) => {
  const { bridge, client } = await pair(t);
  const held: Request[] = [];
  bridge.scripts.set("memory.search", (request) => (held.push(request), SILENCE));
  const calls = ["a", "b", "c"].map((query) => client.call("memory.search", { query }));
  await bridge.arrived("memory.search", 3);
  for (const { id, params, peer } of held.reverse()) peer.send({ id, result: { query: params["query"] } });
  assert.deepEqual(await Promise.all(calls), [{ query: "a" }, { query: "b" }, { query: "c" }]);
});

test("an error answer is a CallError with all that the bridge said", async (t) => {
  const { bridge, client } = await pair(t);
  const data = { kind: "invalid_params", retryable: false, hint: "1–200", path: "params.limit" };
  bridge.scripts.set("memory.search", () => {
    throw new Refusal(-32602, data, "params.limit: too many");
  });
  const error = await failure(client.call("memory.search", { limit: 999 }));
  assert.ok(error instanceof CallError);
  assert.deepEqual([error.code, error.path, error.hint], [-32602, "params.limit", "1–200"]);
  assert.equal(client.state().status, "connected");
});

test("a call ends by its deadline, the bridge is told, and the late answer disturbs nobody", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("memory.recall", () => SILENCE);
  const error = await failure(client.call("memory.recall", { query: "x" }, { timeoutMs: 40 }));
  assert.ok(error instanceof CallTimeout);
  assert.deepEqual([error.method, error.timeoutMs], ["memory.recall", 40]);
  const [asked] = bridge.asked("memory.recall");
  const [told] = await bridge.arrived("$/cancelRequest");
  assert.equal(told?.params["id"], asked?.id);
  asked?.peer.send({ id: asked.id, result: { late: true } });
  assert.deepEqual(await client.call("memory.search", { query: "next" }), { hits: [], query: "next" });
});

test("an answer that arrived in time counts, also where the host was busy past the deadline", async (t) => {
  const { bridge, client } = await pair(t);
  await client.call("memory.search", { query: "warm" });
  const calling = client.call("memory.search", { query: "x" }, { timeoutMs: 60 });
  // The fake lives in this process too: it has to answer before the loop is blocked.
  await bridge.arrived("memory.search", 2);
  await new Promise((resolve) => queueMicrotask(() => resolve(null)));
  const end = performance.now() + 120;
  while (performance.now() < end);
  assert.deepEqual(await calling, { hits: [], query: "x" });
});

test("a caller that gives up gets its cancellation, and the bridge hears of it", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("memory.extract", () => SILENCE);
  const caller = new AbortController();
  const calling = failure(client.call("memory.extract", {}, { signal: caller.signal }));
  const [asked] = await bridge.arrived("memory.extract");
  caller.abort();
  assert.equal((await calling)["code"], -32800);
  assert.equal((await bridge.arrived("$/cancelRequest"))[0]?.params["id"], asked?.id);
  const gone = failure(client.call("memory.search", {}, { signal: AbortSignal.abort() }));
  assert.equal((await gone)["code"], -32800);
});

test("progress goes to the call that asked for it, and a callback that throws harms nothing", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("memory.extract", ({ params, peer }) => {
    const token = params["progress_token"];
    for (const done of [1, 2]) peer.send({ method: "$/progress", params: { token, done, total: 2, message: "slice" } });
    return { events: 2 };
  });
  const heard: unknown[] = [];
  const onProgress = (progress: unknown): void => {
    heard.push(progress);
    throw new Error("the host's own");
  };
  const [result, other] = await Promise.all([
    client.call("memory.extract", {}, { onProgress }),
    client.call("memory.extract", { wait: true }),
  ]);
  assert.deepEqual([result, other], [{ events: 2 }, { events: 2 }]);
  assert.deepEqual(heard, [
    { done: 1, total: 2, message: "slice" },
    { done: 2, total: 2, message: "slice" },
  ]);
  assert.equal(bridge.asked("memory.extract")[1]?.params["progress_token"], undefined);
});

test("half of a surrogate pair reaches the bridge as the replacement character", async (t) => {
  const { bridge, client } = await pair(t);
  await client.call("memory.search", { query: `cut ${"\u{1F600}".slice(0, 1)}` });
  assert.equal(bridge.asked("memory.search")[0]?.params["query"], "cut \ufffd");
});

test("a frozen bridge costs a caller its deadline, is visible in the state, and works again when it wakes", async (t) => {
  const { bridge, client } = await pair(t);
  await client.call("memory.search", { query: "warm" });
  bridge.freeze();
  const big = "x".repeat(4 * 1024 * 1024);
  const began = performance.now();
  const calls = [1, 2, 3].map(() => failure(client.call("memory.search", { query: big }, { timeoutMs: 80 })));
  for (const error of await Promise.all(calls)) assert.ok(error instanceof CallTimeout);
  assert.ok(performance.now() - began < 1500);
  assert.equal(client.state().status, "degraded");
  assert.match(client.state().reason ?? "", /left 3 requests unanswered/);
  bridge.thaw();
  await client.call("memory.search", { query: "again" });
  assert.equal(client.state().status, "connected");
});

test("what a frozen bridge does not take is bounded", async (t) => {
  const { bridge, client } = await pair(t);
  await client.call("memory.search", { query: "warm" });
  bridge.freeze();
  const big = "x".repeat(12 * 1024 * 1024);
  const ask = (): Promise<Error> => failure(client.call("memory.search", { query: big }, { timeoutMs: 200 }));
  const [first, second, third] = await Promise.all([ask(), ask(), ask()]);
  assert.deepEqual([first.name, second.name, third.name], ["CallTimeout", "CallTimeout", "Unavailable"]);
});

test("a read whose connection broke is asked again once, within its deadline", async (t) => {
  const { bridge, client } = await pair(t);
  let times = 0;
  bridge.scripts.set("memory.search", () => {
    times += 1;
    if (times === 1) bridge.drop();
    return times === 1 ? SILENCE : { hits: ["found"] };
  });
  assert.deepEqual(await client.call("memory.search", { query: "x" }), { hits: ["found"] });
  assert.equal(bridge.connections, 2);
});

test("a write whose connection broke is not asked again, and its outcome is called unknown", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("memory.extract", () => (bridge.drop(), SILENCE));
  const error = await failure(client.call("memory.extract"));
  assert.ok(error instanceof Unavailable);
  assert.equal(error.outcomeUnknown, true);
  assert.equal(bridge.asked("memory.extract").length, 1);
  assert.deepEqual(await client.call("memory.search", { query: "x" }), { hits: [], query: "x" });
});

test("a list of tombstones is a read, a change of them is not", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("memory.tombstones", () => (bridge.drop(), SILENCE));
  for (const [op, sends] of [["list", 2], ["lift", 1]] as const) {
    const before = bridge.asked("memory.tombstones").length;
    await failure(client.call("memory.tombstones", { op }, { timeoutMs: 2000 }));
    assert.equal(bridge.asked("memory.tombstones").length - before, sends, op);
  }
});

test("a bridge that leaves refuses, and any request is sent to the next one", async (t) => {
  const { bridge, client } = await pair(t);
  let leaving = true;
  bridge.scripts.set("memory.extract", () => {
    if (!leaving) return { events: 1 };
    leaving = false;
    throw new Refusal(-32008, { kind: "shutting_down", retryable: true });
  });
  assert.deepEqual(await client.call("memory.extract"), { events: 1 });
  assert.equal(bridge.connections, 2);
});

test("a bridge of another protocol is final: it is asked once, and calls say so at once", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("bridge.hello", () => {
    throw new Refusal(-32009, { kind: "version_mismatch" }, "protocol 1 is not served");
  });
  for (let n = 0; n < 3; n += 1) {
    const error = await failure(client.call("memory.search", { query: "x" }));
    assert.deepEqual([error.name, error["code"]], ["CallError", -32009]);
  }
  assert.equal(bridge.connections, 1);
  assert.equal(client.state().status, "refused");
});

test("a bridge that refuses hello for its configuration is unavailable with that reason", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("bridge.hello", () => {
    throw new Refusal(-32602, { kind: "config", hint: "did you mean recall.limit?" }, "unknown setting recall.limt");
  });
  const error = await failure(client.call("memory.search", { query: "x" }));
  assert.match(error.message, /unknown setting recall\.limt \(did you mean recall\.limit\?\)/);
  assert.equal(bridge.connections, 1);
});

test("a bridge that accepts and does not greet makes calls unavailable, not for ever waiting", async (t) => {
  const { bridge, client } = await pair(t, {}, { helloMs: 120 });
  bridge.scripts.set("bridge.hello", () => SILENCE);
  const first = await failure(client.call("memory.search", {}, { timeoutMs: 40 }));
  assert.match(first.message, /not ready within 40 ms/);
  await until(() => client.state().status === "degraded");
  const began = performance.now();
  const second = await failure(client.call("memory.search", {}, { timeoutMs: 5000 }));
  assert.match(second.message, /did not greet within 120 ms/);
  assert.ok(performance.now() - began < 1000);
});

test("a line that is no JSON ends that connection only", async (t) => {
  const { bridge, client } = await pair(t);
  let times = 0;
  bridge.scripts.set("memory.search", ({ peer }) => {
    times += 1;
    if (times === 1) peer.socket.write("Traceback (most recent call last):\n");
    return times === 1 ? SILENCE : { hits: [] };
  });
  assert.deepEqual(await client.call("memory.search"), { hits: [] });
  assert.equal(times, 2);
});

test("answers to nobody, with odd ids and shapes, are dropped", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("memory.search", ({ peer }) => {
    peer.send({ id: null, error: { code: -32600, message: "line too long" } });
    peer.send({ id: 9999, result: {} });
    peer.socket.write('[1]\n"text"\nnull\n{"method":5}\n{"jsonrpc":"2.0","method":"$/unknown"}\n');
    return { hits: [] };
  });
  assert.deepEqual(await client.call("memory.search"), { hits: [] });
});

test("a closed client refuses, fails what waits, and lets the bridge go", async (t) => {
  const { bridge, client } = await pair(t);
  bridge.scripts.set("memory.search", () => SILENCE);
  const waiting = failure(client.call("memory.search", { query: "x" }));
  await bridge.arrived("memory.search");
  await client.close();
  assert.ok((await waiting) instanceof Unavailable);
  assert.match((await failure(client.call("memory.search"))).message, /closed/);
  assert.match((await failure(client.capture({ messages: [] }))).message, /closed/);
  assert.equal(client.state().status, "closed");
  await until(() => bridge.peers.size === 0);
});
