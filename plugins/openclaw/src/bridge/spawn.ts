/**
 * A connection to the one bridge of a data folder; where none runs, it is started, and by one client only.
 *
 * Node has no flock, so clients in Node agree by a lock file of their own, `<socket>.spawn.node.lock`, made with O_EXCL
 * and naming its maker's process. It is taken over where that process is gone or the file is older than any start
 * takes. The Python client agrees by flock on `<socket>.spawn.lock`, which this one leaves alone: there a file that
 * stays is no lock. So two programs, or two clients at the moment of a takeover, may start a bridge each. That is
 * harmless: the bridge holds a lock for its life, and the second finds it taken and leaves with exit code 0.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, renameSync, statSync } from "node:fs";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

import type { RequestHandler } from "./answers.ts";
import { monotonicMs, sleep } from "./clock.ts";
import { allowedEnvironment, type Command, findCommand } from "./command.ts";
import { type Connection, openConnection } from "./connection.ts";
import { checkRuntimeFolder, type Environment, HOME_VARIABLE, makeFolder, type Places } from "./places.ts";
import { codeOf, reasonOf, Unavailable } from "./wire.ts";

export interface SpawnOptions {
  /** Whether a bridge may be started at all. */
  readonly allowed: boolean;
  readonly command?: string | readonly string[] | undefined;
  /** Configuration file for a bridge that is started. */
  readonly config?: string | undefined;
  /** Environment variables that the bridge may see beyond the usual ones. */
  readonly passEnv?: readonly string[] | undefined;
  readonly env: Environment;
}

export interface StartTiming {
  /** How long a start may take. */
  readonly startMs: number;
  readonly pollMs: number;
}

const STARTS_MAX = 3;
const RESTART_MS = 300;
const LOCK_AGE_MS_MAX = 30_000;
const LOCK_UNREADABLE_MS_MAX = 2_000;
const LOG_BYTES_MAX = 5 * 1024 * 1024;
const ABSENT = new Set(["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"]);
/** A bridge that is there and does not accept: its queue of connections is full. */
const BUSY = new Set(["EAGAIN", "ETIMEDOUT", "EINTR"]);
const NOT_RUNNABLE = new Set([126, 127]);

interface Child {
  readonly program: string;
  readonly guessed: boolean;
  readonly pid: number | undefined;
  /** How it ended, null while it runs. */
  ending: string | null;
  code: number | null;
  endedMs: number;
}

export class Starter {
  readonly #places: Places;
  readonly #options: SpawnOptions;
  readonly #timing: StartTiming;
  readonly #handler: RequestHandler | null;
  readonly #broken = new Set<string>();
  #command: Command | null = null;

  constructor(places: Places, options: SpawnOptions, timing: StartTiming, handler: RequestHandler | null) {
    this.#places = places;
    this.#options = options;
    this.#timing = timing;
    this.#handler = handler;
  }

  /** What starts the bridge, once it was looked for. */
  get command(): readonly string[] | null {
    return this.#command?.argv ?? null;
  }

  /** A connection, before hello. Throws Unavailable with the reason where there is none within the time of a start. */
  async connect(closing: AbortSignal): Promise<Connection> {
    if (process.platform === "win32") {
      throw new Unavailable("the bridge's socket is not served on Windows", { lasting: true });
    }
    checkRuntimeFolder(this.#places, this.#options.env);
    const until = monotonicMs() + this.#timing.startMs;
    let lock: SpawnLock | null = null;
    let child: Child | null = null;
    let starts = 0;
    try {
      for (;;) {
        const found = await this.#tryConnect();
        if (typeof found !== "string") return found;
        closing.throwIfAborted();
        if (found === "absent") {
          if (!this.#options.allowed) {
            throw new Unavailable(`no bridge at ${this.#places.socket}, and this client may not start one`);
          }
          this.#judge(child);
          if (lock === null) {
            lock = await takeSpawnLock(this.#places.socket);
            // Whoever held the lock until now may have started one since the last look.
            if (lock !== null) continue;
          } else if (starts < STARTS_MAX && (child === null || isOver(child))) {
            child = await this.#start();
            starts += 1;
          }
        }
        if (monotonicMs() >= until) throw new Unavailable(this.#lateness(found, child));
        await sleep(this.#timing.pollMs);
      }
    } finally {
      await lock?.release();
    }
  }

  async #tryConnect(): Promise<Connection | "absent" | "busy"> {
    try {
      return await openConnection(this.#places.socket, this.#handler);
    } catch (error) {
      const code = codeOf(error);
      if (ABSENT.has(code)) return "absent";
      if (BUSY.has(code)) return "busy";
      throw new Unavailable(`${this.#places.socket} cannot be connected to (${code || reasonOf(error)})`);
    }
  }

  async #start(): Promise<Child> {
    const { command, env, config, passEnv } = this.#options;
    this.#command ??= await findCommand({ command, env, broken: this.#broken });
    const [program, ...words] = this.#command.argv;
    const args = [...words, "serve", "--socket", this.#places.socket];
    if (this.#places.db !== null) args.push("--db", this.#places.db);
    if (config !== undefined) args.push("--config", config);
    const environment = allowedEnvironment(env, passEnv);
    // A relative folder would be another one in the bridge's working directory.
    if (this.#places.homeNamed) environment[HOME_VARIABLE] = this.#places.home;
    return startDetached(program, args, environment, openLog(this.#places), this.#command.guessed);
  }

  /** Throws Unavailable where the bridge that was started has failed. */
  #judge(child: Child | null): void {
    if (child === null || child.ending === null || child.code === 0) return;
    this.#command = null;
    if (child.guessed && (child.code === null || NOT_RUNNABLE.has(child.code))) this.#broken.add(child.program);
    throw new Unavailable(`${child.program} ${child.ending}; see ${this.#places.log}`);
  }

  #lateness(found: "absent" | "busy", child: Child | null): string {
    if (found === "busy") return "the bridge does not accept connections";
    const waited = `within ${this.#timing.startMs} ms`;
    if (child === null) return `another client's bridge was not there ${waited}`;
    return `${child.program} was started and did not listen ${waited}; see ${this.#places.log}`;
  }
}

/**
 * Whether another start makes sense. Exit code 0 at once says that another bridge holds the lock of this socket: one that
 * is about to leave, as it no longer listens.
 */
function isOver(child: Child): boolean {
  return child.code === 0 && monotonicMs() - child.endedMs >= RESTART_MS;
}

/** Start a program in a session of its own. It outlives us and holds nothing of ours. */
function startDetached(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  log: number | "ignore",
  guessed: boolean,
): Child {
  try {
    const started = spawn(program, args, { cwd: "/", detached: true, env, stdio: ["ignore", "ignore", log] });
    const child: Child = { program, guessed, pid: started.pid, ending: null, code: null, endedMs: 0 };
    const end = (ending: string, code: number | null): void => {
      child.ending ??= ending;
      child.code = code;
      child.endedMs = monotonicMs();
    };
    started.on("error", (error) => end(`cannot be run (${codeOf(error) || error.message})`, null));
    started.on("exit", (code, signal) => end(`ended with ${signal ?? `exit code ${code}`} before it listened`, code));
    started.unref();
    return child;
  } catch (error) {
    throw new Unavailable(`${program} cannot be run (${codeOf(error) || reasonOf(error)})`);
  } finally {
    if (typeof log === "number") closeSync(log);
  }
}

/** The log for the bridge's stderr, open for appending; a long one is moved aside. Without one its words are lost. */
function openLog(places: Places): number | "ignore" {
  try {
    makeFolder(places.home);
    const size = statSync(places.log, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LOG_BYTES_MAX) renameSync(places.log, `${places.log}.1`);
    return openSync(places.log, "a", 0o600);
  } catch {
    return "ignore";
  }
}

export interface SpawnLock {
  release(): Promise<void>;
}

/** The lock of whoever starts the bridge, null while another process has it. */
export async function takeSpawnLock(socket: string): Promise<SpawnLock | null> {
  const path = `${socket}.spawn.node.lock`;
  const token = randomBytes(8).toString("hex");
  makeLockFolder(path);
  for (const last of [false, true]) {
    try {
      const file = await open(path, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify({ pid: process.pid, token, at_ms: Date.now() }));
      } finally {
        await file.close();
      }
      return { release: () => releaseLock(path, token) };
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw new Unavailable(`${path} cannot be made (${codeOf(error)})`);
      if (last || !(await isStale(path))) return null;
      await moveAway(path, token);
    }
  }
  return null;
}

function makeLockFolder(path: string): void {
  try {
    makeFolder(dirname(path));
  } catch (error) {
    throw new Unavailable(`${dirname(path)} cannot be made (${codeOf(error)})`);
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    const age = Date.now() - (await stat(path)).mtimeMs;
    if (age > LOCK_AGE_MS_MAX) return true;
    const { pid } = JSON.parse(await readFile(path, "utf8")) as { pid?: unknown };
    if (typeof pid === "number" && Number.isInteger(pid) && pid > 0) return !isAlive(pid);
    return age > LOCK_UNREADABLE_MS_MAX;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    // Its maker may be about to write it.
    return error instanceof SyntaxError && Date.now() - (await modifiedMs(path)) > LOCK_UNREADABLE_MS_MAX;
  }
}

async function modifiedMs(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** Renaming first: of two that find the same stale lock one gets it, and neither unlinks the other's new one by name. */
async function moveAway(path: string, token: string): Promise<void> {
  const aside = `${path}.${token}`;
  try {
    await rename(path, aside);
    await rm(aside, { force: true });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw new Unavailable(`${path} cannot be taken over (${codeOf(error)})`);
  }
}

async function releaseLock(path: string, token: string): Promise<void> {
  try {
    const holder = JSON.parse(await readFile(path, "utf8")) as { token?: unknown };
    if (holder.token === token) await rm(path, { force: true });
  } catch {
    // Taken over or gone: it is no longer ours to remove.
  }
}
