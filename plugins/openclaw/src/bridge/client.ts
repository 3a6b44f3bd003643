/**
 * The client that a host holds: calls, captures that are never lost silently, and a state that says what is wrong.
 *
 * A call ends by its deadline, whatever the bridge does. Asked again, once and within that deadline, is what changes
 * nothing by being asked twice: reads, and a capture, which has a key. Any other request whose answer was lost fails
 * with `outcomeUnknown`. A call in progress keeps the host's process alive, for its deadline at most; nothing else here
 * does.
 */

import { randomUUID } from "node:crypto";

import { OFFERS, type RequestHandler } from "./answers.ts";
import type { Connection, Progress } from "./connection.ts";
import { type Greeted, type Greeting, Link, type LinkStatus, type LinkTiming } from "./link.ts";
import { type Environment, type Places, placesOf } from "./places.ts";
import { type Delivery, Spool, type SpoolCounts, type SpooledCapture } from "./spool.ts";
import { Starter, type StartTiming } from "./spawn.ts";
import { CallError, CallTimeout, cancelled, CODES, isObject, type Json, reasonOf, Unavailable } from "./wire.ts";

export const PROTOCOL_VERSION = 1;

export interface Identity {
  readonly channel?: string;
  readonly account_id?: string;
  readonly user_id?: string;
  readonly chat_id?: string;
  readonly chat_type?: "direct" | "group";
  readonly agent_id?: string;
  readonly session_id?: string;
  readonly thread_id?: string;
  readonly timezone?: string;
  readonly name?: string;
}

export interface BridgeOptions {
  readonly namespace: string;
  /** Name and version of the host's plugin, for the bridge's log. */
  readonly name: string;
  readonly version: string;
  /** Data folder; else `$OCTOP_BRIDGE_HOME`, else the platform's. */
  readonly home?: string | undefined;
  /** One store's file, which a bridge of its own serves. */
  readonly db?: string | undefined;
  /** Socket of a bridge that lies elsewhere, as one shared with a container. */
  readonly socket?: string | undefined;
  readonly role?: "host" | "model" | "person" | undefined;
  readonly token?: string | undefined;
  /** The user sits at this machine. */
  readonly local?: boolean | undefined;
  /** Whose turns these are, where a call does not say. */
  readonly identity?: Identity | undefined;
  /** How the bridge is started: a command line, its words, or a Python that has the package. */
  readonly command?: string | readonly string[] | undefined;
  /** Configuration file of a bridge that is started. */
  readonly config?: string | undefined;
  /** Environment variables that a bridge may see beyond the usual ones, by name. */
  readonly passEnv?: readonly string[] | undefined;
  /** Whether a bridge may be started. Default true. */
  readonly spawn?: boolean | undefined;
  /** Whether undeliverable captures are kept on disk. Default true. */
  readonly spool?: boolean | undefined;
  /** Serves `host.complete`; given = offered. */
  readonly onRequest?: RequestHandler | undefined;
  /** Hears of what a person should know: degraded, back again, spooled, replayed. */
  readonly log?: ((level: "info" | "warn", message: string) => void) | undefined;
  readonly env?: Environment | undefined;
}

export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Given = the call asks for progress; for methods that take a `progress_token`. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface CaptureResult {
  readonly results: readonly {
    readonly index: number;
    readonly status: "stored" | "duplicate" | "skipped";
    readonly event_id: string | null;
    readonly reason: string | null;
  }[];
  readonly stored: number;
  readonly duplicates: number;
  readonly skipped: number;
  readonly redactions: number;
  readonly spooled?: never;
}

/** Kept on disk under this key, to be delivered later. */
export interface Spooled {
  readonly spooled: true;
  readonly key: string;
  readonly reason: string;
}

export interface BridgeState {
  readonly status: LinkStatus;
  /** Why it is as it is, for a person; null where there is nothing to say. */
  readonly reason: string | null;
  readonly sinceMs: number;
  /** When a call tries again to connect; until then calls fail at once. */
  readonly retryAtMs: number | null;
  readonly greeting: Greeting | null;
  readonly pending: number;
  /** Requests in a row that the connected bridge left unanswered. */
  readonly unanswered: number;
  readonly spool: Readonly<SpoolCounts> | null;
  readonly socket: string | null;
  readonly command: readonly string[] | null;
}

export interface Timing extends LinkTiming, StartTiming {
  readonly helloMs: number;
  readonly callMs: number;
  readonly captureMs: number;
  /** How long `close` lets captures finish before it spools them. */
  readonly closeMs: number;
  /** How long a capture lets those before it be replayed first. */
  readonly replayWaitMs: number;
}

const TIMING: Timing = {
  startMs: 8_000,
  pollMs: 30,
  helloMs: 8_000,
  backoffMs: [100, 500],
  pauseMs: 1_000,
  pauseMsMax: 60_000,
  settledMs: 5_000,
  callMs: 10_000,
  captureMs: 5_000,
  closeMs: 1_000,
  replayWaitMs: 1_000,
};

/** Unanswered requests from which on the state says so. */
const UNANSWERED_MANY = 3;
const SENDS_MAX = 2;
const REPEATABLE = new Set([
  "bridge.status",
  "memory.capture",
  "memory.search",
  "memory.recall",
  "memory.get",
  "memory.queue",
  "memory.history",
  "offload.get",
  "offload.search",
  "offload.canvas",
]);
const LISTED = new Set(["memory.tombstones", "memory.entities"]);

export class BridgeClient {
  readonly #options: BridgeOptions;
  readonly #timing: Timing;
  readonly #link: Link;
  readonly #captures = new Set<Promise<unknown>>();
  #made: { places: Places; starter: Starter; spool: Spool | null } | null = null;
  #replaying: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  /** Nothing is read, started or connected before the first call. */
  constructor(options: BridgeOptions, timing: Partial<Timing> = {}) {
    this.#options = options;
    this.#timing = { ...TIMING, ...timing };
    this.#link = new Link((closing) => this.#open(closing), this.#timing, {
      connected: (greeted) => this.#connected(greeted),
      degraded: (reason) => this.#log("warn", `memory is degraded: ${reason}`),
    });
  }

  /** The result of a method. Rejects with CallError, CallTimeout or Unavailable, and with nothing else. */
  async call<Result = Json>(method: string, params: object = {}, options: CallOptions = {}): Promise<Result> {
    if (this.#closing !== null) throw new Unavailable("the client is closed", { lasting: true });
    const limit = deadline(method, options.timeoutMs ?? this.#timing.callMs, options.signal);
    try {
      return (await this.#ask(method, params as Json, limit.signal, options.onProgress)) as Result;
    } finally {
      limit.end();
    }
  }

  /**
   * Store a turn. What cannot be delivered in time is spooled, and the answer says so.
   *
   * Rejects with CallError where the bridge refuses the capture itself, and with Unavailable where it could be neither
   * delivered nor spooled. The same body goes out every time, on the line and from the spool, as the bridge compares it
   * under its key: so key, identity and timestamps are settled here, once. A caller who gives a key of its own and may
   * capture the same turn again has to give the timestamps too.
   */
  capture(params: object, options: Omit<CallOptions, "onProgress"> = {}): Promise<CaptureResult | Spooled> {
    if (this.#closing !== null) return Promise.reject(new Unavailable("the client is closed", { lasting: true }));
    const capturing = this.#capture(params as Json, options);
    this.#captures.add(capturing);
    const forget = (): void => void this.#captures.delete(capturing);
    capturing.then(forget, forget);
    return capturing;
  }

  /** How things stand. Asks nobody and waits for nothing. */
  state(): BridgeState {
    const { live, status, reason, sinceMs, retryAtMs } = this.#link;
    const unanswered = live?.connection.unanswered ?? 0;
    const silent = unanswered >= UNANSWERED_MANY;
    return {
      status: silent ? "degraded" : status,
      reason: silent ? `the bridge is connected and left ${unanswered} requests unanswered` : reason,
      sinceMs,
      retryAtMs,
      greeting: live?.greeting ?? null,
      pending: live?.connection.pending ?? 0,
      unanswered,
      spool: this.#made?.spool ? { ...this.#made.spool.counts } : null,
      socket: this.#made?.places.socket ?? null,
      command: this.#made?.starter.command ?? null,
    };
  }

  /** Let go of the bridge. Captures in progress finish or are spooled first. Never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const captures = Promise.allSettled([...this.#captures]);
    if (this.#captures.size > 0) await this.#within(captures, this.#timing.closeMs);
    this.#link.close();
    // What was cut off goes to the spool now.
    await captures;
  }

  async #ask(
    method: string,
    params: Json,
    signal: AbortSignal,
    onProgress?: (progress: Progress) => void,
  ): Promise<unknown> {
    for (let sends = 1; ; sends += 1) {
      const connection = await this.#connection(signal);
      try {
        return await connection.request(method, params, { signal, onProgress });
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const last = sends >= SENDS_MAX || this.#closing !== null;
        if (error.name === "ConnectionLost") {
          const { written } = error as Error & { written: boolean };
          if (!last && (!written || isRepeatable(method, params))) continue;
          const what = written ? `${error.message}; whether ${method} was done is unknown` : error.message;
          throw new Unavailable(what, { outcomeUnknown: written });
        }
        if (last || !isCode(error, CODES.shuttingDown)) throw error;
        // It was not done: the bridge leaves, and another one takes its place.
        this.#link.retire(connection);
      }
    }
  }

  async #connection(signal: AbortSignal): Promise<Connection> {
    try {
      return await this.#link.connection(signal);
    } catch (error) {
      if (error instanceof Unavailable || isCallError(error)) throw error;
      throw new Unavailable(reasonOf(error));
    }
  }

  async #capture(given: Json, options: CallOptions): Promise<CaptureResult | Spooled> {
    const nowMs = Date.now();
    const params = this.#settled(given, nowMs);
    const timeoutMs = options.timeoutMs ?? this.#timing.captureMs;
    const limit = deadline("memory.capture", timeoutMs, options.signal);
    try {
      await this.#afterReplay(Math.min(this.#timing.replayWaitMs, timeoutMs / 4));
      return (await this.#ask("memory.capture", params, limit.signal)) as CaptureResult;
    } catch (error) {
      if (isCallError(error) && !isPassing(error)) throw error;
      return await this.#keep(params, nowMs, error);
    } finally {
      limit.end();
    }
  }

  /** A capture's parameters as they are sent, however often: with key, identity, and a timestamp on every message. */
  #settled(given: Json, nowMs: number): Json {
    const { identity } = this.#options;
    const messages = Array.isArray(given["messages"]) ? (given["messages"] as unknown[]) : null;
    const stamped = messages?.map((message) => {
      return isObject(message) && (message["timestamp"] ?? null) === null ? { ...message, timestamp: nowMs } : message;
    });
    return {
      ...given,
      ...(stamped ? { messages: stamped } : {}),
      ...(identity !== undefined && (given["identity"] ?? null) === null ? { identity } : {}),
      key: given["key"] ?? randomUUID().replaceAll("-", ""),
    };
  }

  async #keep(params: Json, atMs: number, cause: unknown): Promise<Spooled> {
    const reason = reasonOf(cause);
    const spool = this.#parts().spool;
    if (spool === null) throw cause;
    const { namespace } = this.#options;
    const key = String(params["key"]);
    try {
      await spool.append({ namespace, key, local: this.#options.local ?? false, at_ms: atMs, params });
    } catch (error) {
      this.#log("warn", `a turn is lost: ${reasonOf(error)}; it was not delivered because ${reason}`);
      throw error;
    }
    this.#log("warn", `a turn was spooled: ${reason}`);
    return { spooled: true, key, reason };
  }

  /** Deliver what waits before what comes, if that takes no longer than this. */
  async #afterReplay(waitMs: number): Promise<void> {
    if (this.#replaying === null && this.#link.live !== null && (this.#made?.spool?.counts.pending ?? 0) > 0) {
      this.#connected(this.#link.live);
    }
    if (this.#replaying !== null) await this.#within(this.#replaying, waitMs);
  }

  #connected({ connection, greeting }: Greeted): void {
    const spool = this.#made?.spool ?? null;
    if (spool === null || this.#replaying !== null || !greeting.methods.includes("memory.capture")) return;
    this.#replaying = this.#replay(spool, connection)
      .catch((error: unknown) => this.#log("warn", `the spool was not replayed: ${reasonOf(error)}`))
      .finally(() => {
        this.#replaying = null;
      });
  }

  async #replay(spool: Spool, connection: Connection): Promise<void> {
    const before = spool.counts.replayed;
    const { namespace, local = false } = this.#options;
    const mine = (capture: SpooledCapture): boolean => {
      return capture.namespace === namespace && capture.local === local;
    };
    await spool.replay(mine, (capture) => this.#deliver(capture, connection));
    const count = spool.counts.replayed - before;
    if (count > 0) this.#log("info", `${count} spooled turns were delivered`);
  }

  async #deliver(capture: SpooledCapture, connection: Connection): Promise<Delivery> {
    const limit = deadline("memory.capture", this.#timing.captureMs, undefined, false);
    try {
      await connection.request("memory.capture", { ...capture.params, key: capture.key }, { signal: limit.signal });
      return "delivered";
    } catch (error) {
      if (!isCallError(error)) return "later";
      // The key is known with another body: the turn arrived before, by another way.
      if (error.code === CODES.invalidParams && error.path === "params.key") return "delivered";
      return isPassing(error) || !isFinal(error) ? "later" : "rejected";
    } finally {
      limit.end();
    }
  }

  async #open(closing: AbortSignal): Promise<Greeted> {
    const connection = await this.#parts().starter.connect(closing);
    try {
      const greeting = await this.#greet(connection, this.#options.onRequest !== undefined);
      const line = greeting.limits["line_bytes_max"];
      if (typeof line === "number" && line > 0) connection.lineBytesMax = line;
      return { connection, greeting };
    } catch (error) {
      connection.end("hello failed");
      if (isCode(error, CODES.versionMismatch)) throw error;
      if (error instanceof CallTimeout) {
        const reason = `the bridge accepted a connection and did not greet within ${error.timeoutMs} ms`;
        throw new Unavailable(reason, { lasting: true });
      }
      if (!isCallError(error)) throw error;
      const hint = error.hint === null ? "" : ` (${error.hint})`;
      throw new Unavailable(`the bridge refused: ${error.message}${hint}`, { lasting: !error.retryable });
    }
  }

  async #greet(connection: Connection, offering: boolean): Promise<Greeting> {
    const { name, version, namespace, role, token, local, identity } = this.#options;
    const limit = deadline("bridge.hello", this.#timing.helloMs, undefined, false);
    const params: Json = { protocol: PROTOCOL_VERSION, client: { name, version }, namespace };
    Object.assign(params, JSON.parse(JSON.stringify({ role, token, local, identity })));
    if (offering) params["offers"] = OFFERS;
    try {
      return greetingOf(await connection.request("bridge.hello", params, { signal: limit.signal }));
    } catch (error) {
      const withoutOffers = offering && isCode(error, CODES.invalidParams) && error.path?.startsWith("params.offers");
      if (!withoutOffers) throw error;
      this.#log("warn", "this bridge does not use the host's model");
      return await this.#greet(connection, false);
    } finally {
      limit.end();
    }
  }

  /** What needs the places, made at first need: a constructor that throws would take the host's plugin with it. */
  #parts(): { places: Places; starter: Starter; spool: Spool | null } {
    if (this.#made !== null) return this.#made;
    const { command, config, passEnv, onRequest, env = process.env } = this.#options;
    const places = placesOf(this.#options, env);
    const spawn = { allowed: this.#options.spawn ?? true, command, config, passEnv, env };
    const starter = new Starter(places, spawn, this.#timing, onRequest ?? null);
    const spool = this.#options.spool === false ? null : new Spool(places.spoolStem);
    this.#made = { places, starter, spool };
    return this.#made;
  }

  async #within(work: Promise<unknown>, ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const time = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([work, time]).finally(() => clearTimeout(timer));
  }

  #log(level: "info" | "warn", message: string): void {
    try {
      this.#options.log?.(level, message);
    } catch {
      // The host's logger is the host's.
    }
  }
}

interface Deadline {
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * A signal that fires when the time is up or the caller gives up.
 *
 * The time counts as up one turn of the event loop later: where the host was busy until past the deadline, an answer
 * that arrived in time is read first. `holding` keeps the process alive until the end.
 */
function deadline(method: string, ms: number, caller: AbortSignal | undefined, holding = true): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(() => setImmediate(() => controller.abort(new CallTimeout(method, ms))), Math.max(0, ms));
  if (!holding) timer.unref();
  const giveUp = (): void => controller.abort(cancelled(method));
  if (caller?.aborted) giveUp();
  else caller?.addEventListener("abort", giveUp, { once: true });
  const end = (): void => {
    clearTimeout(timer);
    caller?.removeEventListener("abort", giveUp);
  };
  return { signal: controller.signal, end };
}

function greetingOf(result: unknown): Greeting {
  const said = isObject(result) ? result : {};
  return { degraded: [], features: {}, limits: {}, methods: [], ...said } as unknown as Greeting;
}

function isRepeatable(method: string, params: Json): boolean {
  return REPEATABLE.has(method) || (LISTED.has(method) && params["op"] === "list");
}

function isCallError(error: unknown): error is CallError {
  return error instanceof Error && error.name === "CallError";
}

function isCode(error: unknown, code: number): error is CallError {
  return isCallError(error) && error.code === code;
}

/** Whether the capture itself is wrong and stays so. A wrong configuration answers every request so, and can be mended. */
function isFinal(error: CallError): boolean {
  if (error.kind === "config") return false;
  return error.code === CODES.invalidParams || error.code === CODES.tooLarge;
}

/** Whether it is the bridge's trouble and not the capture's: then the capture is kept. */
function isPassing(error: CallError): boolean {
  const { internal, storageUnavailable, shuttingDown, versionMismatch } = CODES;
  const troubles: number[] = [internal, storageUnavailable, shuttingDown, versionMismatch];
  return error.kind === "config" || error.retryable || troubles.includes(error.code);
}
