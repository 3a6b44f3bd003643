import assert from "node:assert/strict";
import { test } from "node:test";

import { CallError, callErrorOf, encodeLine, jsonText, LineReader, wellFormed } from "../src/bridge/wire.ts";

const FACE = "\u{1F600}";
const HALF = FACE.slice(0, 1);

test("half of a surrogate pair becomes the replacement character, in texts and in keys", () => {
  assert.equal(jsonText({ text: `cut ${HALF}`, [`k${HALF}`]: [HALF] }), '{"text":"cut \ufffd","k\ufffd":["\ufffd"]}');
});

test("whole pairs and a text that only looks like an escape pass unchanged", () => {
  const given = { face: FACE, looks: "\\ud83d" };
  assert.deepEqual(JSON.parse(jsonText(given)), given);
});

test("halves are repaired where the engine has no toWellFormed", () => {
  const own = Object.getOwnPropertyDescriptor(String.prototype, "toWellFormed");
  Object.defineProperty(String.prototype, "toWellFormed", { value: undefined, configurable: true });
  try {
    assert.equal(wellFormed(`${FACE}${HALF}a${FACE.slice(1)}`), `${FACE}\ufffda\ufffd`);
  } finally {
    if (own) Object.defineProperty(String.prototype, "toWellFormed", own);
  }
});

test("dates beside a broken text keep their JSON form", () => {
  assert.equal(jsonText({ at: new Date(0), text: HALF }), '{"at":"1970-01-01T00:00:00.000Z","text":"\ufffd"}');
});

test("params that have no JSON form are a CallError", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  for (const bad of [circle, { n: 1n }]) {
    assert.throws(() => jsonText(bad), (error) => error instanceof CallError && error.code === -32602);
  }
});

test("a line over the limit is refused before it is sent", () => {
  assert.throws(() => encodeLine({ text: "x".repeat(100) }, 50), (error) => (error as CallError).code === -32005);
  assert.equal(encodeLine({ a: 1 }, 8).toString(), '{"a":1}\n');
});

test("lines are whole wherever the chunks are cut", () => {
  const bytes = Buffer.from(`{"a":"${FACE}é"}\n\n{"b":2}\nrest`);
  for (const size of [1, 2, 3, 7, 100]) {
    const reader = new LineReader(100);
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...reader.push(bytes.subarray(at, at + size)));
    assert.deepEqual(lines, [`{"a":"${FACE}é"}`, "", '{"b":2}'], `chunks of ${size}`);
  }
});

test("a line that never ends does not fill the memory", () => {
  const reader = new LineReader(10);
  reader.push(Buffer.from("12345"));
  assert.throws(() => reader.push(Buffer.from("678901")), RangeError);
});

test("an error without data still has every field", () => {
  const error = callErrorOf({ code: -32001, message: "gone" });
  assert.deepEqual([error.code, error.message, error.kind, error.retryable], [-32001, "gone", "unknown", false]);
  assert.deepEqual([error.hint, error.path, error.reason, error.incident], [null, null, null, null]);
  assert.equal(callErrorOf("nonsense").code, -32603);
});
