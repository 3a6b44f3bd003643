/**
 * Captures that could not be delivered, kept on disk until they can be.
 *
 * Python's spool is one file, `<stem>.jsonl`, under flock. Node has no flock, and a lock file beside it would bind only
 * those who look at it: a reader that truncates would take with it what Node appends in between. So what Node writes is
 * never appended to and never shared. Each capture is a file of its own,
 *
 *     <stem>.node-<at_ms, 15 digits>-<number, 6 digits>-<pid>-<8 hex digits>.jsonl
 *
 * holding one line as Python's spool has it. It is written under a name ending in `.tmp`, synchronised, and renamed. What
 * has the name `.jsonl` is whole, never changes, and only ever disappears. From that follows what a replayer may do,
 * without any lock:
 *
 *   - read the files `<stem>.node-*.jsonl` in the order of their names and capture each;
 *   - remove a file once its capture was answered. If two replay at once, both deliver, and the key makes the second
 *     delivery answer what the first did; who comes second finds the file gone, and that is no error;
 *   - rename it to `.rejected` in place of `.jsonl` where the answer is final;
 *   - leave it for any other answer.
 *
 * The bridge replays these files as it does Python's. This client replays them too when it has connected, those of other
 * processes included, but only where the capture's connection was `local` exactly as this one is: the owner of a turn
 * depends on it. Python's own file is not touched from here.
 */

import { randomBytes } from "node:crypto";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { makeFolder } from "./places.ts";
import { codeOf, isObject, type Json, jsonText, reasonOf, Unavailable } from "./wire.ts";

export const SPOOL_BYTES_MAX = 16 * 1024 * 1024;
export const LINE_VERSION = 1;

/**
 * What became of one spooled capture: stored; never storable; left for another time; or left with all behind it, as
 * nothing can be delivered now.
 */
export type Delivery = "delivered" | "rejected" | "kept" | "stop";

export interface SpooledCapture {
  readonly namespace: string;
  readonly key: string;
  readonly local: boolean;
  readonly at_ms: number;
  readonly params: Json;
}

export interface SpoolCounts {
  /** Captures that wait, and their bytes, as of the last look at the folder. */
  pending: number;
  bytes: number;
  /** Since this client began: */
  spooled: number;
  replayed: number;
  rejected: number;
  /** Refused because the spool was full, or failed to be written: these are lost. */
  full: number;
  failed: number;
}

const LOOK_AGE_MS_MAX = 30_000;
const DRAFT_AGE_MS_MAX = 3_600_000;

export class Spool {
  readonly #folder: string;
  readonly #prefix: string;
  readonly #bytesMax: number;
  readonly #counts: SpoolCounts = {
    pending: 0,
    bytes: 0,
    spooled: 0,
    replayed: 0,
    rejected: 0,
    full: 0,
    failed: 0,
  };
  #lookedMs = 0;
  #number = 0;

  constructor(stem: string, bytesMax: number = SPOOL_BYTES_MAX) {
    this.#folder = dirname(stem);
    this.#prefix = `${basename(stem)}.node-`;
    this.#bytesMax = bytesMax;
  }

  get counts(): Readonly<SpoolCounts> {
    return this.#counts;
  }

  /** Keep a capture. Returned = it is on the disk. Throws Unavailable where it could not be kept. */
  async append(capture: SpooledCapture): Promise<void> {
    const line = Buffer.from(`${jsonText({ v: LINE_VERSION, ...capture })}\n`, "utf8");
    try {
      if (Date.now() - this.#lookedMs > LOOK_AGE_MS_MAX) await this.look();
      if (this.#counts.bytes + line.length > this.#bytesMax) {
        this.#counts.full += 1;
        throw new Unavailable(`the spool is full (${this.#counts.bytes} bytes); this turn is not remembered`);
      }
      await this.#write(this.#name(capture.at_ms), line);
    } catch (error) {
      if (error instanceof Unavailable) throw error;
      this.#counts.failed += 1;
      throw new Unavailable(`the turn could not be spooled (${codeOf(error) || reasonOf(error)})`);
    }
    this.#counts.spooled += 1;
    this.#counts.pending += 1;
    this.#counts.bytes += line.length;
  }

  /** Count what waits, and remove drafts that a crash left behind. A folder that is not there holds nothing. */
  async look(): Promise<readonly string[]> {
    const names = await this.#list(".jsonl");
    let bytes = 0;
    for (const name of names) bytes += (await this.#statOf(name))?.size ?? 0;
    this.#counts.pending = names.length;
    this.#counts.bytes = bytes;
    this.#lookedMs = Date.now();
    for (const name of await this.#list(".tmp")) {
      const found = await this.#statOf(name);
      if (found !== null && Date.now() - found.mtimeMs > DRAFT_AGE_MS_MAX) await this.#remove(name);
    }
    return names;
  }

  /**
   * Deliver what waits, oldest first, until something has to wait longer. Throws only where the folder cannot be read.
   *
   * `mine` says which captures this client may deliver; the others stay for a client of their kind or the bridge.
   */
  async replay(
    mine: (capture: SpooledCapture) => boolean,
    deliver: (capture: SpooledCapture) => Promise<Delivery>,
  ): Promise<void> {
    for (const name of await this.look()) {
      const text = await this.#read(name);
      if (text === null) continue;
      const capture = captureOf(text);
      if (capture === "foreign") continue;
      if (capture !== null && !mine(capture)) continue;
      const fate = capture === null ? "rejected" : await deliver(capture);
      if (fate === "stop") break;
      if (fate === "kept") continue;
      if (fate === "delivered") await this.#remove(name);
      else await this.#reject(name);
      this.#counts[fate === "delivered" ? "replayed" : "rejected"] += 1;
    }
    await this.look();
  }

  #name(atMs: number): string {
    this.#number += 1;
    const parts = [String(atMs).padStart(15, "0"), String(this.#number).padStart(6, "0"), process.pid];
    return `${this.#prefix}${parts.join("-")}-${randomBytes(4).toString("hex")}`;
  }

  async #write(name: string, line: Buffer): Promise<void> {
    makeFolder(this.#folder);
    const draft = join(this.#folder, `${name}.tmp`);
    try {
      const file = await open(draft, "wx", 0o600);
      try {
        await file.writeFile(line);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, join(this.#folder, `${name}.jsonl`));
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw error;
    }
    await this.#syncFolder();
  }

  /** Make the new name durable too. File systems that cannot are no worse off than without. */
  async #syncFolder(): Promise<void> {
    try {
      const folder = await open(this.#folder, "r");
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
    } catch {
      return;
    }
  }

  /** Names of ours with this ending, oldest first. */
  async #list(ending: string): Promise<string[]> {
    try {
      const names = await readdir(this.#folder);
      return names.filter((name) => name.startsWith(this.#prefix) && name.endsWith(ending)).sort();
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  async #statOf(name: string): Promise<{ size: number; mtimeMs: number } | null> {
    try {
      return await stat(join(this.#folder, name));
    } catch {
      return null;
    }
  }

  /** The text of a file, null where another has delivered it meanwhile. */
  async #read(name: string): Promise<string | null> {
    try {
      return await readFile(join(this.#folder, name), "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    }
  }

  async #remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
  }

  async #reject(name: string): Promise<void> {
    const path = join(this.#folder, name);
    try {
      await rename(path, path.replace(/\.jsonl$/, ".rejected"));
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }
}

/** The capture that a file holds, null where it holds none, `foreign` where a later version wrote it. */
function captureOf(text: string): SpooledCapture | "foreign" | null {
  try {
    const line: unknown = JSON.parse(text);
    if (!isObject(line)) return null;
    const { v, namespace, key, local, at_ms, params } = line;
    if (typeof v === "number" && v > LINE_VERSION) return "foreign";
    if (typeof namespace !== "string" || typeof key !== "string" || !isObject(params)) return null;
    return { namespace, key, local: local === true, at_ms: typeof at_ms === "number" ? at_ms : 0, params };
  } catch {
    return null;
  }
}
