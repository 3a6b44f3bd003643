/**
 * What goes over the line and what can go wrong: the three errors of the client, JSON lines out, JSON lines in.
 *
 * The errors carry their class in `name`, because a host may load this module several times: `instanceof` fails between
 * two copies, `error.name === "Unavailable"` does not.
 */

export type Json = Record<string, unknown>;

export const CODES = {
  invalidParams: -32602,
  unknownMethod: -32601,
  internal: -32603,
  cancelled: -32800,
  tooLarge: -32005,
  modelUnavailable: -32006,
  storageUnavailable: -32007,
  shuttingDown: -32008,
  versionMismatch: -32009,
} as const;

export const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** The bridge's own answer: an error with a code. Every field of `error.data` is there, null where nothing was said. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly code: number;
  readonly kind: string;
  readonly retryable: boolean;
  readonly hint: string | null;
  readonly path: string | null;
  readonly reason: string | null;
  readonly incident: string | null;

  constructor(code: number, message: string, data: Json = {}) {
    super(message);
    this.code = code;
    this.kind = textOf(data["kind"]) ?? "unknown";
    this.retryable = data["retryable"] === true;
    this.hint = textOf(data["hint"]);
    this.path = textOf(data["path"]);
    this.reason = textOf(data["reason"]);
    this.incident = textOf(data["incident"]);
  }
}

export interface UnavailableDetails {
  /** The request left and its answer never came: it may have been done. */
  readonly outcomeUnknown?: boolean;
  /** When the client tries again; calls before that fail at once with the same reason. */
  readonly retryAtMs?: number | null;
  /** Nothing changes by trying again soon: no program to start, a folder that is somebody else's. */
  readonly lasting?: boolean;
}

/** No bridge to talk to. `reason` is for a person's eyes. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
  readonly reason: string;
  readonly outcomeUnknown: boolean;
  readonly retryAtMs: number | null;
  readonly lasting: boolean;

  constructor(reason: string, details: UnavailableDetails = {}) {
    super(`memory is unavailable: ${reason}`);
    this.reason = reason;
    this.outcomeUnknown = details.outcomeUnknown ?? false;
    this.retryAtMs = details.retryAtMs ?? null;
    this.lasting = details.lasting ?? false;
  }
}

/** The bridge was asked and did not answer in time. What was asked may have been done. */
export class CallTimeout extends Error {
  override readonly name = "CallTimeout";
  readonly method: string;
  readonly timeoutMs: number;

  constructor(method: string, timeoutMs: number) {
    super(`${method} was not answered within ${timeoutMs} ms`);
    this.method = method;
    this.timeoutMs = timeoutMs;
  }
}

/** The connection ended before the answer came. Never leaves the client: it decides whether to ask again. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  readonly written: boolean;

  constructor(reason: string, written: boolean) {
    super(reason);
    this.written = written;
  }
}

/** The error that an `error` member of a reply stands for. */
export function callErrorOf(body: unknown): CallError {
  const error = isObject(body) ? body : {};
  const code = typeof error["code"] === "number" ? error["code"] : CODES.internal;
  const data = isObject(error["data"]) ? error["data"] : {};
  return new CallError(code, textOf(error["message"]) ?? "the bridge gave no message", data);
}

/** The error of a call that its caller gave up. */
export function cancelled(method: string): CallError {
  return new CallError(CODES.cancelled, `${method} was cancelled by its caller`, { kind: "cancelled" });
}

/**
 * A message as one line of UTF-8. Throws CallError where it cannot be written as JSON or is longer than `bytesMax`.
 *
 * JavaScript strings may hold half of a surrogate pair; `JSON.stringify` writes such a half as an escape, so only a text
 * with an escape of that form can hold one, and only then is the whole message walked.
 */
export function encodeLine(message: Json, bytesMax: number = LINE_BYTES_MAX): Buffer {
  const line = Buffer.from(`${jsonText(message)}\n`, "utf8");
  if (line.length > bytesMax) {
    throw new CallError(CODES.tooLarge, `a request of ${line.length} bytes; at most ${bytesMax}`, {
      kind: "too_large",
      hint: "send fewer messages in one call",
    });
  }
  return line;
}

/** A value as JSON without halves of surrogate pairs. Throws CallError where it has no JSON form. */
export function jsonText(value: Json): string {
  try {
    const text = JSON.stringify(value);
    return /\\ud[89a-f]/i.test(text) ? JSON.stringify(repaired(value)) : text;
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n", 1)[0] : "unknown";
    throw new CallError(CODES.invalidParams, `params cannot be written as JSON: ${why}`, {
      kind: "invalid_params",
      path: "params",
    });
  }
}

/** The text with U+FFFD in place of each unpaired half of a surrogate pair. */
export function wellFormed(text: string): string {
  const modern = (text as { toWellFormed?: () => string }).toWellFormed;
  return typeof modern === "function" ? modern.call(text) : text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Lines out of chunks. A line is decoded once it is whole, so a character that two chunks share stays whole too. */
export class LineReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The lines that this chunk completes. Throws RangeError where one grows over the limit. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(Buffer.concat(this.#parts, this.#bytes).toString("utf8"));
      this.#parts = [];
      this.#bytes = 0;
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#bytesMax) throw new RangeError(`a line of more than ${this.#bytesMax} bytes`);
    this.#parts.push(part);
  }
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether an error is the bridge's own answer, whichever copy of this module made it. */
export function isCallError(error: unknown): error is CallError {
  return error instanceof Error && error.name === "CallError";
}

/** Whether an error is the bridge's answer with this code. */
export function isCode(error: unknown, code: number): error is CallError {
  return isCallError(error) && error.code === code;
}

/** One line about an error of any kind, for a reason or a log. */
export function reasonOf(error: unknown): string {
  if (error instanceof Unavailable) return error.reason;
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

/** The system's code of an error (`ENOENT`), empty where it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The value with every string and key repaired. What JSON reads through `toJSON` is read here too. */
function repaired(value: unknown): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(repaired);
  const own = (value as { toJSON?: unknown }).toJSON;
  if (typeof own === "function") return repaired(own.call(value));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [wellFormed(key), repaired(item)]));
}
