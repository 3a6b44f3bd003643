/**
 * The other way round: requests that the bridge sends to the host, `host.complete` above all.
 *
 * Each is served on its own, with a signal that fires when the bridge cancels it, its time is up or the connection ends.
 * What the host's handler throws is told to the bridge only where the handler said it on purpose, as a CallError: the
 * text of any other error may hold a key or a path.
 */

import { CallError, CODES, isObject, type Json } from "./wire.ts";

export type RequestHandler = (method: string, params: Json, context: { signal: AbortSignal }) => Promise<Json> | Json;

export const OFFERS: readonly string[] = ["host.complete"];

const RUNNING_MAX = 16;
const TIMEOUT_MS_MAX = 600_000;

type RequestId = string | number;

export class Answers {
  readonly #handler: RequestHandler | null;
  readonly #send: (message: Json) => void;
  readonly #running = new Map<RequestId, AbortController>();

  constructor(handler: RequestHandler | null, send: (message: Json) => void) {
    this.#handler = handler;
    this.#send = send;
  }

  /** Serve one request of the bridge's. Returns at once; never throws. */
  request(id: RequestId, method: string, given: unknown): void {
    const handler = this.#handler;
    if (handler === null || !OFFERS.includes(method)) {
      this.#refuse(id, new CallError(CODES.unknownMethod, `${method} is not served here`, { kind: "unknown_method" }));
      return;
    }
    if (this.#running.size >= RUNNING_MAX || this.#running.has(id)) {
      const busy = { kind: "busy", retryable: true };
      this.#refuse(id, new CallError(CODES.storageUnavailable, "the host answers other requests", busy));
      return;
    }
    void this.#serve(id, method, isObject(given) ? given : {}, handler);
  }

  /** The bridge wants no answer to this request any more. */
  cancel(id: unknown): void {
    const reason = new CallError(CODES.cancelled, "cancelled by the bridge", { kind: "cancelled" });
    this.#running.get(id as RequestId)?.abort(reason);
  }

  /** The connection is gone: every handler is told. */
  end(): void {
    for (const id of this.#running.keys()) this.cancel(id);
  }

  async #serve(id: RequestId, method: string, params: Json, handler: RequestHandler): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.set(id, controller);
    const timer = setTimeout(() => controller.abort(outOfTime(method)), timeLimit(params));
    timer.unref();
    const abandoned = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    try {
      const result = await Promise.race([(async () => handler(method, params, { signal }))(), abandoned]);
      this.#send({ jsonrpc: "2.0", id, result: result ?? null });
    } catch (error) {
      this.#refuse(id, error);
    } finally {
      clearTimeout(timer);
      this.#running.delete(id);
    }
  }

  #refuse(id: RequestId, error: unknown): void {
    const told = error instanceof Error && error.name === "CallError" ? (error as CallError) : unexplained(error);
    const { code, message, kind, retryable, hint, path, reason, incident } = told;
    const data = { kind, retryable, hint, path, reason, incident };
    this.#send({ jsonrpc: "2.0", id, error: { code, message, data } });
  }
}

function timeLimit(params: Json): number {
  const asked = params["timeout_ms"];
  return typeof asked === "number" && asked > 0 ? Math.min(asked, TIMEOUT_MS_MAX) : TIMEOUT_MS_MAX;
}

function outOfTime(method: string): CallError {
  const details = { kind: "model_unavailable", retryable: true, reason: "timeout" };
  return new CallError(CODES.modelUnavailable, `the host did not finish ${method} in time`, details);
}

function unexplained(error: unknown): CallError {
  const what = error instanceof Error ? error.name : typeof error;
  const details = { kind: "model_unavailable", retryable: true };
  return new CallError(CODES.modelUnavailable, `the host's handler failed (${what})`, details);
}
