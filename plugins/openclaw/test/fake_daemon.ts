/**
 * The scripted bridge as a program of its own, started as the real one is: `… serve --socket PATH`.
 *
 * It notes each start in `<socket>.starts`, leaves with 0 where another holds the lock, and obeys `$OCTOP_BRIDGE_TEST`:
 * `fail` ends at once with exit code 7, `mute` never listens, `mortal` dies at the first search.
 */

import { appendFileSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";

import { FakeBridge } from "./fake.ts";

const args = process.argv.slice(2);
const socket = args[args.indexOf("--socket") + 1] ?? "";
const mode = process.env["OCTOP_BRIDGE_TEST"] ?? "";
const lock = `${socket}.daemon.lock`;

appendFileSync(`${socket}.starts`, `${process.pid}\n`);
writeFileSync(`${socket}.env`, JSON.stringify(process.env));
writeFileSync(`${socket}.argv`, JSON.stringify(args));
if (mode === "fail") {
  process.stderr.write("no such setting\n");
  process.exit(7);
}
// A test that fails must not leave a process behind.
setTimeout(() => process.exit(9), 30_000).unref();
if (mode === "mute") {
  setInterval(() => undefined, 1000);
} else if (locked()) {
  const bridge = new FakeBridge(socket);
  rmSync(socket, { force: true });
  bridge.scripts.set("bridge.status", () => ({ pid: process.pid }));
  if (mode === "mortal") bridge.scripts.set("memory.search", () => process.kill(process.pid, "SIGKILL"));
  await bridge.listen();
  process.on("SIGTERM", () => {
    rmSync(lock, { force: true });
    process.exit(0);
  });
}

/** Whether this process has the lock now. A dead holder has none, as with flock. */
function locked(): boolean {
  try {
    writeFileSync(openSync(lock, "wx"), String(process.pid));
    return true;
  } catch {
    if (isAlive(Number(readFileSync(lock, "utf8")))) return false;
    rmSync(lock, { force: true });
    return locked();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
