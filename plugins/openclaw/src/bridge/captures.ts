/**
 * Captures, from the host to the bridge or to the disk and from there to the bridge.
 *
 * The same body goes out every time, on the line and from the spool, since the bridge compares it under its key: key,
 * identity and timestamps are settled once, before the first try.
 */

import { randomUUID } from "node:crypto";

import { deadline, monotonicMs, within } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { BridgeOptions, CallOptions, CaptureResult, Spooled, Timing } from "./options.ts";
import type { Delivery, Spool, SpooledCapture } from "./spool.ts";
import { CallError, CODES, isCallError, isObject, type Json, reasonOf, wellFormed } from "./wire.ts";

/** What captures need of the client. */
export interface Client {
  readonly options: BridgeOptions;
  readonly timing: Timing;
  /** The spool, null where the client has none. */
  spool(): Spool | null;
  connection(signal: AbortSignal): Promise<Connection>;
  ask(method: string, params: Json, signal: AbortSignal): Promise<unknown>;
  log(level: "info" | "warn", message: string): void;
}

const METHOD = "memory.capture";
/** After a capture was spooled while connected: as long as what made it fail may last at least. */
const FAILED_PAUSE_MS = 1_000;

export class Captures {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #local: boolean;
  readonly #running = new Set<Promise<unknown>>();
  #replaying: Promise<void> | null = null;
  #nextReplayMs = 0;

  constructor(client: Client) {
    this.#client = client;
    this.#namespace = wellFormed(client.options.namespace);
    this.#local = client.options.local ?? false;
  }

  /** Store a turn or spool it. A rejection that nobody looks at does no harm. */
  capture(params: Json, options: CallOptions): Promise<CaptureResult | Spooled> {
    const running = this.#capture(params, options);
    this.#running.add(running);
    const forget = (): void => void this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  /** When every capture and replay that runs now is done. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running, this.#replaying]);
  }

  /** Deliver what the spool holds over this connection. Returns at once; one replay runs at a time. */
  replay(connection: Connection): void {
    if (this.#replaying !== null) return;
    this.#replaying = this.#replay(connection)
      .catch((error: unknown) => this.#client.log("warn", `the spool was not replayed: ${reasonOf(error)}`))
      .finally(() => {
        this.#replaying = null;
      });
  }

  async #capture(given: Json, options: CallOptions): Promise<CaptureResult | Spooled> {
    const { timing } = this.#client;
    const nowMs = Date.now();
    const params = this.#settle(given, nowMs);
    const timeoutMs = options.timeoutMs ?? timing.captureMs;
    const limit = deadline(METHOD, timeoutMs, options.signal);
    try {
      await this.#afterReplay(await this.#client.connection(limit.signal), timeoutMs);
      return (await this.#client.ask(METHOD, params, limit.signal)) as CaptureResult;
    } catch (error) {
      if (isCallError(error) && !isPassing(error)) throw error;
      return await this.#keep(params, nowMs, error);
    } finally {
      limit.end();
    }
  }

  /** A capture's parameters as they are sent, however often: with key, identity, and a timestamp on every message. */
  #settle(given: Json, nowMs: number): Json {
    const { identity } = this.#client.options;
    const messages = Array.isArray(given["messages"]) ? (given["messages"] as unknown[]) : null;
    const stamped = messages?.map((message) => {
      return isObject(message) && isMissing(message["timestamp"]) ? { ...message, timestamp: nowMs } : message;
    });
    return {
      ...given,
      ...(stamped ? { messages: stamped } : {}),
      ...(identity !== undefined && isMissing(given["identity"]) ? { identity } : {}),
      key: given["key"] ?? randomUUID().replaceAll("-", ""),
    };
  }

  async #keep(params: Json, atMs: number, cause: unknown): Promise<Spooled> {
    const reason = reasonOf(cause);
    const spool = this.#client.spool();
    if (spool === null) throw cause;
    const key = String(params["key"]);
    const capture = { namespace: this.#namespace, key, local: this.#local, at_ms: atMs, params };
    try {
      await spool.append(capture);
    } catch (error) {
      this.#client.log("warn", `a turn is lost: ${reasonOf(error)}; it was not delivered because ${reason}`);
      throw error;
    }
    this.#nextReplayMs = Math.min(this.#nextReplayMs, monotonicMs() + FAILED_PAUSE_MS);
    this.#client.log("warn", `a turn was spooled: ${reason}`);
    return { spooled: true, key, reason };
  }

  /** Let what waits be delivered before what comes, if that takes not too long. */
  async #afterReplay(connection: Connection, timeoutMs: number): Promise<void> {
    const waiting = this.#client.spool()?.counts.pending ?? 0;
    if (waiting > 0 && monotonicMs() >= this.#nextReplayMs) this.replay(connection);
    const waitMs = Math.min(this.#client.timing.replayWaitMs, timeoutMs / 4);
    if (this.#replaying !== null) await within(this.#replaying, waitMs);
  }

  async #replay(connection: Connection): Promise<void> {
    const spool = this.#client.spool();
    if (spool === null) return;
    this.#nextReplayMs = monotonicMs() + this.#client.timing.replayPauseMs;
    const before = spool.counts.replayed;
    const mine = (capture: SpooledCapture): boolean => {
      return capture.namespace === this.#namespace && capture.local === this.#local;
    };
    await spool.replay(mine, (capture) => this.#deliver(capture, connection));
    const count = spool.counts.replayed - before;
    if (count > 0) this.#client.log("info", `${count} spooled turns were delivered`);
  }

  async #deliver(capture: SpooledCapture, connection: Connection): Promise<Delivery> {
    const limit = deadline(METHOD, this.#client.timing.captureMs, undefined, false);
    try {
      await connection.request(METHOD, { ...capture.params, key: capture.key }, { signal: limit.signal });
      return "delivered";
    } catch (error) {
      return isCallError(error) ? fateOf(error) : "stop";
    } finally {
      limit.end();
    }
  }
}

/** What an error answer to a spooled capture makes of it. */
function fateOf(error: CallError): Delivery {
  // The key is known with another body: the turn arrived before, by another way.
  if (error.code === CODES.invalidParams && error.path === "params.key") return "delivered";
  if (error.code === CODES.internal) return "kept";
  if (isPassing(error)) return "stop";
  return error.code === CODES.invalidParams || error.code === CODES.tooLarge ? "rejected" : "kept";
}

/**
 * Whether it is the bridge's trouble and not the capture's: then the capture is kept. A wrong configuration answers every
 * request with -32602, and can be mended.
 */
function isPassing(error: CallError): boolean {
  const troubles: number[] = [CODES.internal, CODES.storageUnavailable, CODES.shuttingDown, CODES.versionMismatch];
  return error.kind === "config" || error.retryable || troubles.includes(error.code);
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}
