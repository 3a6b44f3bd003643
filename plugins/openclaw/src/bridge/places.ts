/**
 * Where the bridge's files lie, as the bridge itself reckons it: data folder, socket, log, spool.
 *
 * A socket's path has 104 to 108 bytes in the kernel. A longer one moves to a short hashed name in a runtime folder; as
 * that folder may lie in a place where everybody can write, it is used only where it is ours alone.
 */

import { createHash } from "node:crypto";
import { accessSync, constants, lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";

import { codeOf, Unavailable, wellFormed } from "./wire.ts";

export const HOME_VARIABLE = "OCTOP_BRIDGE_HOME";
export const SOCKET_BYTES_MAX = 103;

export type Environment = Readonly<Record<string, string | undefined>>;

export interface PlaceOptions {
  readonly namespace: string;
  readonly home?: string | undefined;
  readonly db?: string | undefined;
  readonly socket?: string | undefined;
}

export interface Places {
  /** The data folder. */
  readonly home: string;
  /** Whether a bridge has to be told the data folder. Being told moves its configuration too. */
  readonly homeNamed: boolean;
  /** The store's file, symbolic links resolved, where one was named. */
  readonly db: string | null;
  readonly socket: string;
  readonly log: string;
  /** Path of the spool without its ending. */
  readonly spoolStem: string;
}

/** The places of a client. Nothing is made or read, but for the links in the path of `db` and the runtime folder. */
export function placesOf(options: PlaceOptions, env: Environment = process.env): Places {
  const named = env[HOME_VARIABLE] || undefined;
  const usual = named === undefined ? platformHome(env) : resolve(expanded(named));
  const home = options.home === undefined ? usual : resolve(expanded(options.home));
  const db = options.db === undefined ? null : realPath(resolve(expanded(options.db)));
  const wanted = options.socket ?? (db === null ? join(home, "bridge.sock") : `${db}.sock`);
  return {
    home,
    homeNamed: named !== undefined || home !== usual,
    db,
    socket: shortEnough(resolve(expanded(wanted)), env),
    log: join(home, "bridge.log"),
    spoolStem: db === null ? join(home, `spool-${namespaceHash(options.namespace)}`) : `${db}.spool`,
  };
}

/** The first 16 hex digits of SHA-256 over the namespace in NFC: what stands for it in file names. */
export function namespaceHash(namespace: string): string {
  return hashed(wellFormed(namespace).normalize("NFC"));
}

/** Make the folder for us alone. What is there already keeps its mode. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/**
 * Throws Unavailable where the socket lies in a shared runtime folder that is not ours alone.
 *
 * Whoever owns that folder could put a socket of their own into it and be told everything that is remembered.
 */
export function checkRuntimeFolder(places: Places, env: Environment = process.env): void {
  const folder = dirname(places.socket);
  if (!runtimeFolders(env).includes(folder)) return;
  const uid = process.getuid?.() ?? -1;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw new Unavailable(`${folder} cannot be made: ${codeOf(error)}`);
  }
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new Unavailable(`${folder} is not this user's alone; the socket cannot be trusted`, { lasting: true });
  }
}

function platformHome(env: Environment): string {
  const user = env["HOME"] || homedir();
  if (process.platform === "darwin") return join(user, "Library", "Application Support", "octop-bridge");
  const named = env["XDG_DATA_HOME"] ?? "";
  // The XDG base directory specification has a relative path ignored.
  return join(isAbsolute(named) ? named : join(user, ".local", "share"), "octop-bridge");
}

function shortEnough(path: string, env: Environment): string {
  if (Buffer.byteLength(path) <= SOCKET_BYTES_MAX) return path;
  const name = `${hashed(path)}.sock`;
  for (const folder of runtimeFolders(env)) {
    const short = join(folder, name);
    if (Buffer.byteLength(short) <= SOCKET_BYTES_MAX) return short;
  }
  throw new Unavailable(`no runtime folder has a path short enough for a socket (${path})`, { lasting: true });
}

/** Folders for a socket whose own place has too long a path, best first. */
function runtimeFolders(env: Environment): string[] {
  const own = `octop-bridge-${process.getuid?.() ?? 0}`;
  const named = env["XDG_RUNTIME_DIR"] ?? "";
  const temporary = [env["TMPDIR"], env["TEMP"], env["TMP"]].find((folder) => folder && isWritable(folder));
  return [
    ...(isAbsolute(named) && isFolder(named) ? [join(named, "octop-bridge")] : []),
    ...(temporary ? [join(resolve(temporary), own)] : []),
    join("/tmp", own),
  ];
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return isFolder(folder);
  } catch {
    return false;
  }
}

/** The path with links resolved as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

function expanded(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

function hashed(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, 16);
}
