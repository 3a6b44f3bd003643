import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { allowedEnvironment, findCommand, words } from "../src/bridge/command.ts";
import { Unavailable } from "../src/client.ts";
import { folder } from "./fake.ts";

function program(path: string, exitCode = 0): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\nexit ${exitCode}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function reasonOf(looking: Promise<unknown>): Promise<string> {
  const error = await looking.then(() => null, (reason: unknown) => reason);
  assert.ok(error instanceof Unavailable);
  assert.equal(error.lasting, true);
  return error.reason;
}

test("octop-bridge on the PATH is taken before any Python", async (t) => {
  const bin = folder(t);
  program(join(bin, "python3"));
  const own = program(join(bin, "octop-bridge"));
  assert.deepEqual(await findCommand({ env: { PATH: bin } }), { argv: [own], guessed: true });
});

test("a Python without the package or too old is passed over, the next one taken", async (t) => {
  const bin = folder(t);
  program(join(bin, "python3.13"), 4);
  program(join(bin, "python3.12"), 3);
  const good = program(join(bin, "python3"));
  const found = await findCommand({ env: { PATH: bin } });
  assert.deepEqual(found.argv, [good, "-m", "octop_bridge"]);
});

test("the active virtual environment is looked at first", async (t) => {
  const bin = folder(t);
  const venv = folder(t);
  program(join(bin, "octop-bridge"));
  const python = program(join(venv, "bin", "python"));
  const found = await findCommand({ env: { PATH: bin, VIRTUAL_ENV: venv } });
  assert.deepEqual(found.argv, [python, "-m", "octop_bridge"]);
});

test("where nothing is found the error names every try and the remedy (PUB-92)", async (t) => {
  const bin = folder(t);
  const poor = program(join(bin, "python3.12"), 4);
  const reason = await reasonOf(findCommand({ env: { PATH: bin } }));
  assert.ok(reason.includes("octop-bridge (not found)"), reason);
  assert.ok(reason.includes("python3.13 (not found)"), reason);
  assert.ok(reason.includes(`${poor} (has no octop_bridge)`), reason);
  assert.ok(reason.includes("OCTOP_BRIDGE_COMMAND"), reason);
});

test("on Windows it is Scripts and .exe that are looked for (PUB-92)", async () => {
  const env = { PATH: "", VIRTUAL_ENV: "/v" };
  const reason = await reasonOf(findCommand({ env, platform: "win32" }));
  assert.ok(reason.includes("/v/Scripts/python.exe"), reason);
  assert.ok(reason.includes("octop-bridge.exe"), reason);
});

test("a named command is taken or refused, never passed over for a guess", async (t) => {
  const bin = folder(t);
  const own = program(join(bin, "octop-bridge"));
  const env = { PATH: bin, OCTOP_BRIDGE_COMMAND: "/nowhere/bridge" };
  assert.match(await reasonOf(findCommand({ env })), /\$OCTOP_BRIDGE_COMMAND is \/nowhere\/bridge/);
  assert.match(await reasonOf(findCommand({ env, command: "/other" })), /the configured command is \/other/);
  const found = await findCommand({ env, command: ["octop-bridge", "--quiet"] });
  assert.deepEqual(found, { argv: [own, "--quiet"], guessed: false });
});

test("a named Python runs the module, unless it is told what to run", async (t) => {
  const python = program(join(folder(t), "python3.12"));
  const run = async (command: string): Promise<readonly string[]> => (await findCommand({ command, env: {} })).argv;
  assert.deepEqual(await run(python), [python, "-m", "octop_bridge"]);
  assert.deepEqual(await run(`${python} -m mine`), [python, "-m", "mine"]);
});

test("a command line is split at blanks, but not inside quotes or a file's own name", (t) => {
  assert.deepEqual(words(`uvx 'octop bridge'  "a b"`), ["uvx", "octop bridge", "a b"]);
  const blank = program(join(folder(t), "my bridge"));
  assert.deepEqual(words(blank), [blank]);
});

test("a program that was found and did not run is passed over", async (t) => {
  const bin = folder(t);
  const own = program(join(bin, "octop-bridge"));
  const python = program(join(bin, "python3"));
  const found = await findCommand({ env: { PATH: bin }, broken: new Set([own]) });
  assert.equal(found.argv[0], python);
});

test("a folder of the PATH that is no absolute path is not searched", async (t) => {
  program(join(folder(t), "octop-bridge"));
  assert.match(await reasonOf(findCommand({ env: { PATH: `.:bin` } })), /octop-bridge \(not found\)/);
});

test("the bridge sees its own variables and the usual ones, no key of the host's, and what the caller names", () => {
  const env = {
    PATH: "/bin",
    LC_ALL: "C",
    XDG_RUNTIME_DIR: "/run",
    OCTOP_BRIDGE_HOME: "/h",
    OCTOP_BRIDGE_OPERATOR_TOKEN: "secret",
    OPENAI_API_KEY: "secret",
    OPENCLAW_STATE_DIR: "/s",
    WANTED: "yes",
    GONE: undefined,
  };
  const allowed = allowedEnvironment(env, ["WANTED", "GONE"]);
  assert.deepEqual(Object.keys(allowed).sort(), ["LC_ALL", "OCTOP_BRIDGE_HOME", "PATH", "WANTED", "XDG_RUNTIME_DIR"]);
});
