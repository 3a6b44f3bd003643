import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { checkRuntimeFolder, namespaceHash, placesOf } from "../src/bridge/places.ts";
import { Unavailable } from "../src/client.ts";
import { folder } from "./fake.ts";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

test("the places of a data folder are those of the bridge", () => {
  const places = placesOf({ namespace: "default", home: "/x/home/" }, {});
  assert.equal(places.socket, "/x/home/bridge.sock");
  assert.equal(places.log, "/x/home/bridge.log");
  // sha256("default")
  assert.equal(places.spoolStem, "/x/home/spool-37a8eec1ce19687d");
});

test("the variable names the data folder, an option outranks it, and the platform's is the last", () => {
  const env = { OCTOP_BRIDGE_HOME: "/x/env", HOME: "/x/user" };
  assert.equal(placesOf({ namespace: "a" }, env).home, "/x/env");
  assert.equal(placesOf({ namespace: "a", home: "/x/option" }, env).home, "/x/option");
  const usual = placesOf({ namespace: "a" }, { HOME: "/x/user", XDG_DATA_HOME: "relative" });
  if (process.platform !== "darwin") assert.equal(usual.home, "/x/user/.local/share/octop-bridge");
  assert.equal(usual.homeNamed, false);
});

test("a namespace has one hash however its accents are written", () => {
  assert.equal(namespaceHash("caf\u00e9"), namespaceHash("cafe\u0301"));
  assert.notEqual(namespaceHash("cafe"), namespaceHash("caf\u00e9"));
});

test("a store's socket and spool lie beside the real file of a link", (t) => {
  const home = folder(t);
  mkdirSync(join(home, "real"));
  symlinkSync(join(home, "real"), join(home, "link"));
  const places = placesOf({ namespace: "a", db: join(home, "link", "m.sqlite") }, {});
  assert.equal(places.socket, join(home, "real", "m.sqlite.sock"));
  assert.equal(places.spoolStem, join(home, "real", "m.sqlite.spool"));
});

test("a home of 130 characters gives a short hashed socket (PUB-85)", (t) => {
  const runtime = folder(t);
  const home = `/${"h".repeat(129)}`;
  const name = `${hashOf(`${home}/bridge.sock`)}.sock`;
  const env = { XDG_RUNTIME_DIR: runtime };
  assert.equal(placesOf({ namespace: "a", home }, env).socket, join(runtime, "octop-bridge", name));
  const fallback = placesOf({ namespace: "a", home }, { XDG_RUNTIME_DIR: `${runtime}/none` }).socket;
  assert.equal(fallback, `/tmp/octop-bridge-${process.getuid?.()}/${name}`);
});

test("a temporary folder that is too long itself is passed over", (t) => {
  const long = join(folder(t), "t".repeat(80));
  mkdirSync(long);
  const home = `/${"h".repeat(129)}`;
  assert.match(placesOf({ namespace: "a", home }, { TMPDIR: long }).socket, /^\/tmp\/octop-bridge-\d+\//);
});

test("a runtime folder that others may enter, or a link in its place, is refused", (t) => {
  const runtime = folder(t);
  const env = { XDG_RUNTIME_DIR: runtime };
  const places = placesOf({ namespace: "a", home: `/${"h".repeat(129)}` }, env);
  checkRuntimeFolder(places, env);
  chmodSync(join(runtime, "octop-bridge"), 0o755);
  assert.throws(() => checkRuntimeFolder(places, env), Unavailable);

  const other = folder(t);
  symlinkSync(folder(t), join(other, "octop-bridge"));
  const linked = { XDG_RUNTIME_DIR: other };
  const there = placesOf({ namespace: "a", home: `/${"h".repeat(129)}` }, linked);
  assert.throws(() => checkRuntimeFolder(there, linked), Unavailable);
});
