import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { CallError, type RequestHandler } from "../src/client.ts";
import { clientOf, FakeBridge, folder, type Json, type Peer, Refusal, until } from "./fake.ts";

/** A bridge, and its end of a connection to a client with this handler. */
async function greeted(t: TestContext, onRequest?: RequestHandler): Promise<{ bridge: FakeBridge; peer: Peer }> {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  const client = clientOf(t, home, onRequest ? { onRequest } : {});
  await client.call("memory.search", { query: "x" });
  const [peer] = bridge.peers;
  assert.ok(peer);
  return { bridge, peer };
}

async function answer(bridge: FakeBridge, peer: Peer, id: string, method: string, params: Json = {}): Promise<Json> {
  peer.send({ id, method, params });
  const isIt = (): boolean => bridge.asked("reply").some((reply) => reply.id === id);
  await until(isIt);
  return bridge.asked("reply").find((reply) => reply.id === id)?.params ?? {};
}

const codeOf = (reply: Json): unknown => (reply["error"] as Json | undefined)?.["code"];

test("a client with a handler offers the host's model, and its answer goes to the bridge", async (t) => {
  const asked: unknown[] = [];
  const { bridge, peer } = await greeted(t, async (method, params) => {
    asked.push(method, params);
    return { text: "[]", model: "m", usage: { prompt_tokens: 1, completion_tokens: 1 } };
  });
  assert.deepEqual(bridge.asked("bridge.hello")[0]?.params["offers"], ["host.complete"]);
  const reply = await answer(bridge, peer, "h1", "host.complete", { purpose: "extract", timeout_ms: 5000 });
  assert.deepEqual(reply["result"], { text: "[]", model: "m", usage: { prompt_tokens: 1, completion_tokens: 1 } });
  assert.deepEqual(asked, ["host.complete", { purpose: "extract", timeout_ms: 5000 }]);
});

test("a client without a handler offers nothing and answers that it knows no such method", async (t) => {
  const { bridge, peer } = await greeted(t);
  assert.equal(bridge.asked("bridge.hello")[0]?.params["offers"], undefined);
  assert.equal(codeOf(await answer(bridge, peer, "h1", "host.complete")), -32601);
});

test("what was not offered does not reach the handler", async (t) => {
  const { bridge, peer } = await greeted(t, () => assert.fail("it was called"));
  assert.equal(codeOf(await answer(bridge, peer, "h1", "host.shell")), -32601);
});

test("an accident in the handler tells the bridge its kind and not its text", async (t) => {
  const { bridge, peer } = await greeted(t, () => {
    throw new TypeError("key sk-secret is wrong");
  });
  const reply = await answer(bridge, peer, "h1", "host.complete");
  assert.equal(codeOf(reply), -32006);
  assert.ok(!JSON.stringify(reply).includes("secret"));
  assert.ok(JSON.stringify(reply).includes("TypeError"));
});

test("what a handler says on purpose is told", async (t) => {
  const { bridge, peer } = await greeted(t, async () => {
    throw new CallError(-32006, "the provider is over its quota", { kind: "model_unavailable", retryable: true });
  });
  const error = (await answer(bridge, peer, "h1", "host.complete"))["error"] as Json;
  assert.equal(error["message"], "the provider is over its quota");
  assert.deepEqual(error["data"], {
    kind: "model_unavailable",
    retryable: true,
    hint: null,
    path: null,
    reason: null,
    incident: null,
  });
});

test("an answer that has no JSON form is an error to the bridge, not silence", async (t) => {
  const { bridge, peer } = await greeted(t, () => ({ text: 1n }));
  assert.equal(codeOf(await answer(bridge, peer, "h1", "host.complete")), -32603);
});

test("the bridge's cancellation and its time limit reach a handler, which is answered for at once", async (t) => {
  const signals: AbortSignal[] = [];
  const never: RequestHandler = (_method, _params, { signal }) => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
  const { bridge, peer } = await greeted(t, never);
  assert.equal(codeOf(await answer(bridge, peer, "h1", "host.complete", { timeout_ms: 20 })), -32006);
  const waiting = answer(bridge, peer, "h2", "host.complete", { timeout_ms: 60_000 });
  await until(() => signals.length === 2);
  peer.send({ method: "$/cancelRequest", params: { id: "h2" } });
  assert.equal(codeOf(await waiting), -32800);
  assert.deepEqual(signals.map((signal) => signal.aborted), [true, true]);
});

test("the end of the connection reaches a handler", async (t) => {
  let heard: AbortSignal | undefined;
  const { bridge, peer } = await greeted(t, (_method, _params, { signal }) => {
    heard = signal;
    return new Promise(() => undefined);
  });
  peer.send({ id: "h1", method: "host.complete", params: {} });
  await until(() => heard !== undefined);
  bridge.drop();
  await until(() => heard?.aborted === true);
});

test("a bridge that does not know offers is greeted without them", async (t) => {
  const home = folder(t);
  const bridge = await FakeBridge.listening(t, join(home, "bridge.sock"));
  const hello = bridge.scripts.get("bridge.hello");
  bridge.scripts.set("bridge.hello", (request) => {
    if (request.params["offers"]) throw new Refusal(-32602, { kind: "invalid_params", path: "params.offers" });
    return hello?.(request);
  });
  const client = clientOf(t, home, { onRequest: () => ({}) });
  await client.call("memory.search", { query: "x" });
  assert.deepEqual([bridge.connections, bridge.asked("bridge.hello").length], [1, 2]);
});
