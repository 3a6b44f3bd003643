/**
 * The client that a host holds: calls, captures that are never lost silently, and a state that says what is wrong.
 *
 * A call ends by its deadline, whatever the bridge does. Asked again, once and within that deadline, is what changes
 * nothing by being asked twice: reads, and a capture, which has a key. Any other request whose answer was lost fails
 * with `outcomeUnknown`. A call in progress keeps the host's process alive, for its deadline at most; nothing else here
 * does.
 */

import { OFFERS } from "./answers.ts";
import { Captures } from "./captures.ts";
import { deadline, within } from "./clock.ts";
import type { Connection, Progress } from "./connection.ts";
import { type Greeted, type Greeting, Link } from "./link.ts";
import { type BridgeOptions, type BridgeState, PROTOCOL_VERSION, TIMING, type Timing } from "./options.ts";
import type { CallOptions, CaptureResult, Spooled } from "./options.ts";
import { type Places, placesOf } from "./places.ts";
import { Spool } from "./spool.ts";
import { Starter } from "./spawn.ts";
import { CallTimeout, CODES, isCallError, isCode, isObject, type Json, reasonOf, Unavailable } from "./wire.ts";

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

interface Parts {
  readonly places: Places;
  readonly starter: Starter;
  readonly spool: Spool | null;
}

export class BridgeClient {
  readonly #options: BridgeOptions;
  readonly #timing: Timing;
  readonly #link: Link;
  readonly #captures: Captures;
  #made: Parts | null = null;
  #closing: Promise<void> | null = null;

  /** Nothing is read, started or connected before the first call. */
  constructor(options: BridgeOptions, timing: Partial<Timing> = {}) {
    this.#options = options;
    this.#timing = { ...TIMING, ...timing };
    this.#link = new Link((closing) => this.#open(closing), this.#timing, {
      connected: (greeted) => this.#connected(greeted),
      degraded: (reason) => this.#log("warn", `memory is degraded: ${reason}`),
    });
    this.#captures = new Captures({
      options,
      timing: this.#timing,
      spool: () => this.#parts().spool,
      connection: (signal) => this.#connection(signal),
      ask: (method, params, signal) => this.#ask(method, params, signal),
      log: (level, message) => this.#log(level, message),
    });
  }

  /** The result of a method. Rejects with CallError, CallTimeout or Unavailable, and with nothing else. */
  async call<Result = Json>(method: string, params: object = {}, options: CallOptions = {}): Promise<Result> {
    if (this.#closing !== null) throw closed();
    const limit = deadline(method, options.timeoutMs ?? this.#timing.callMs, options.signal);
    try {
      return (await this.#ask(method, { ...params }, limit.signal, options.onProgress)) as Result;
    } finally {
      limit.end();
    }
  }

  /**
   * Store a turn. What cannot be delivered in time is spooled, and the answer says so.
   *
   * Rejects with CallError where the bridge refuses the capture itself, and with Unavailable where it could be neither
   * delivered nor spooled. A message without a timestamp gets the present one, so a caller who gives a key of its own
   * and may capture the same turn again gives the timestamps too: the bridge refuses a key with another body.
   */
  capture(params: object, options: Omit<CallOptions, "onProgress"> = {}): Promise<CaptureResult | Spooled> {
    return this.#closing === null ? this.#captures.capture({ ...params }, options) : Promise.reject(closed());
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
    const settled = this.#captures.settled();
    await within(settled, this.#timing.closeMs);
    this.#link.close();
    // What was cut off goes to the spool now.
    await settled;
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

  #connected({ connection, greeting }: Greeted): void {
    if (greeting.methods.includes("memory.capture")) this.#captures.replay(connection);
  }

  async #open(closing: AbortSignal): Promise<Greeted> {
    const connection = await this.#parts().starter.connect(closing);
    try {
      const greeting = await this.#greet(connection, this.#options.onRequest !== undefined);
      const lineMax = greeting.limits["line_bytes_max"];
      if (typeof lineMax === "number" && lineMax > 0) connection.lineBytesMax = lineMax;
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
    const said = { role, token, local, identity, offers: offering ? OFFERS : undefined };
    const params = { protocol: PROTOCOL_VERSION, client: { name, version }, namespace, ...said };
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
  #parts(): Parts {
    if (this.#made !== null) return this.#made;
    const { command, config, passEnv, onRequest, env = process.env } = this.#options;
    const places = placesOf(this.#options, env);
    const spawn = { allowed: this.#options.spawn ?? true, command, config, passEnv, env };
    const starter = new Starter(places, spawn, this.#timing, onRequest ?? null);
    const spool = this.#options.spool === false ? null : new Spool(places.spoolStem);
    this.#made = { places, starter, spool };
    return this.#made;
  }

  #log(level: "info" | "warn", message: string): void {
    try {
      this.#options.log?.(level, message);
    } catch {
      // The host's logger is the host's.
    }
  }
}

function closed(): Unavailable {
  return new Unavailable("the client is closed", { lasting: true });
}

/** The answer to hello, with what a terse bridge leaves out. */
function greetingOf(result: unknown): Greeting {
  const said = isObject(result) ? result : {};
  return { degraded: [], features: {}, limits: {}, methods: [], ...said } as unknown as Greeting;
}

function isRepeatable(method: string, params: Json): boolean {
  return REPEATABLE.has(method) || (LISTED.has(method) && params["op"] === "list");
}
