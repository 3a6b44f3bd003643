/**
 * Which program is the bridge, and what of our environment it may see.
 *
 * Looked for in this order: the command that the caller named; `$OCTOP_BRIDGE_COMMAND`; `octop-bridge` in the active
 * virtual environment and on the PATH; a Python of these that has the package. One that was named is taken or refused,
 * never passed over for a guess. Where nothing is found the error lists every try with its outcome.
 */

import { execFile } from "node:child_process";
import { constants, statSync } from "node:fs";
import { access } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, resolve } from "node:path";

import type { Environment } from "./places.ts";
import { codeOf, Unavailable } from "./wire.ts";

export const COMMAND_VARIABLE = "OCTOP_BRIDGE_COMMAND";

export interface Command {
  readonly argv: readonly [string, ...string[]];
  /** Found by looking around, so that another may do where this one does not run. */
  readonly guessed: boolean;
}

export interface CommandOptions {
  readonly command?: string | readonly string[] | undefined;
  readonly env?: Environment;
  readonly platform?: NodeJS.Platform;
  /** Programs that were found and then did not run. */
  readonly broken?: ReadonlySet<string>;
}

const PROGRAM = "octop-bridge";
const MODULE = ["-m", "octop_bridge"] as const;
const PYTHONS = ["python3.13", "python3.12", "python3.11", "python3"];
const PROBE_MS = 5000;
const PROBE = [
  "import importlib.util as u, sys",
  "sys.exit(3 if sys.version_info < (3, 11) else 0 if u.find_spec('octop_bridge') else 4)",
].join("; ");
const PROBE_SAYS: Readonly<Record<number, string>> = { 3: "older than Python 3.11", 4: "has no octop_bridge" };

const PASSED = new Set(["PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV"]);
const PASSED_PREFIXES = ["LC_", "XDG_", "OCTOP_BRIDGE_"];
/** The right to act as the person is not for a process that outlives this one; the bridge has it in a file. */
const WITHHELD = new Set(["OCTOP_BRIDGE_OPERATOR_TOKEN"]);

/** The command that starts the bridge. Throws Unavailable that names everything that was tried. */
export async function findCommand(options: CommandOptions = {}): Promise<Command> {
  const env = options.env ?? process.env;
  const windows = (options.platform ?? process.platform) === "win32";
  const named = options.command ?? (env[COMMAND_VARIABLE] || undefined);
  if (named !== undefined && named.length > 0) {
    const origin = options.command === undefined ? `$${COMMAND_VARIABLE}` : "the configured command";
    return { argv: await namedCommand(named, origin, env), guessed: false };
  }
  const tried: string[] = [];
  for (const place of places(env, windows)) {
    const program = await executable(place, env);
    if (program === null) tried.push(`${place} (not found)`);
    else if (options.broken?.has(program)) tried.push(`${program} (does not run)`);
    else if (isPython(program)) {
      const objection = await probe(program, env);
      if (objection === null) return { argv: [program, ...MODULE], guessed: true };
      tried.push(`${program} (${objection})`);
    } else return { argv: [program], guessed: true };
  }
  const remedy = `install octop-bridge (uv tool install octop-bridge) or set ${COMMAND_VARIABLE}`;
  throw new Unavailable(`no program for the bridge; tried ${tried.join(", ")}; ${remedy}`, { lasting: true });
}

/** The environment of the bridge: what it needs to run, its own settings, and what the caller names. Never all of ours. */
export function allowedEnvironment(env: Environment, named: readonly string[] = []): Record<string, string> {
  const passed = new Set([...PASSED, ...named]);
  const allowed = Object.entries(env).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    if (value === undefined) return false;
    return passed.has(name) || (PASSED_PREFIXES.some((prefix) => name.startsWith(prefix)) && !WITHHELD.has(name));
  });
  return Object.fromEntries(allowed);
}

/** The words of a command line. Quotes group words; an existing file with blanks in its name is one word. */
export function words(line: string): string[] {
  const text = line.trim();
  if (isFile(text)) return [text];
  const found = text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

async function namedCommand(
  named: string | readonly string[],
  origin: string,
  env: Environment,
): Promise<[string, ...string[]]> {
  const [first, ...rest] = typeof named === "string" ? words(named) : named;
  if (first === undefined) throw new Unavailable(`${origin} is empty`, { lasting: true });
  const program = await executable(first, env);
  if (program === null) throw new Unavailable(`${origin} is ${first}, which cannot be run`, { lasting: true });
  return rest.length === 0 && isPython(program) ? [program, ...MODULE] : [program, ...rest];
}

/** Names and paths of programs to look at, best first. */
function places(env: Environment, windows: boolean): string[] {
  const venv = env["VIRTUAL_ENV"];
  const [folder, ending] = windows ? ["Scripts", ".exe"] : ["bin", ""];
  const inVenv = venv ? [PROGRAM, "python"].map((name) => join(venv, folder, name + ending)) : [];
  const pythons = windows ? ["python", "python3"] : PYTHONS;
  return [...inVenv, ...[PROGRAM, ...pythons].map((name) => name + ending)];
}

/** The path of a program, null where there is none that may be run. A bare name is looked for on the PATH. */
async function executable(name: string, env: Environment): Promise<string | null> {
  const bare = basename(name) === name;
  const folders = bare ? (env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder)) : [""];
  for (const folder of folders) {
    const path = resolve(folder, name);
    try {
      await access(path, constants.X_OK);
      if (isFile(path)) return path;
    } catch {
      continue;
    }
  }
  return null;
}

/** What speaks against a Python, null where it has the package. The package itself is not imported: that is slow. */
function probe(python: string, env: Environment): Promise<string | null> {
  const options = { timeout: PROBE_MS, env: allowedEnvironment(env), cwd: "/", windowsHide: true };
  return new Promise((settle) => {
    try {
      const child = execFile(python, ["-c", PROBE], options, (error) => {
        if (error === null) return settle(null);
        const { code } = error;
        if (typeof code === "number") return settle(PROBE_SAYS[code] ?? `exit code ${code}`);
        return settle(error.killed ? `no answer in ${PROBE_MS} ms` : codeOf(error) || "cannot be run");
      });
      child.stdin?.on("error", () => undefined);
      child.stdin?.end();
    } catch (error) {
      settle(codeOf(error) || "cannot be run");
    }
  });
}

function isPython(program: string): boolean {
  return /^python[\d.]*(\.exe)?$/i.test(basename(program));
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return false;
  }
}
