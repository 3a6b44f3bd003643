/**
 * The one connection of a client: made at first need, greeted, made again when it was lost, and left alone for a while
 * when it cannot be made.
 *
 *     idle → connecting → connected → (lost) idle …
 *                 └ 3 tries → degraded: calls fail at once until the pause is over, 1 s, then 2 s … 60 s
 *     a bridge of another protocol → refused, for good
 *
 * There is no timer that tries on its own: a call after the pause does, so a host that does not ask is not disturbed. A
 * caller waits as long as its own signal lets it; what it waited for goes on without it.
 */

import { monotonicMs, sleep } from "./clock.ts";
import type { Connection } from "./connection.ts";
import { type CallError, CallTimeout, CODES, isCode, type Json, reasonOf, Unavailable } from "./wire.ts";

export type LinkStatus = "idle" | "connecting" | "connected" | "degraded" | "refused" | "closed";

/** What the bridge said in its answer to hello. */
export interface Greeting {
  readonly protocol: number;
  readonly server: { readonly name: string; readonly version: string };
  readonly namespace: string;
  readonly role: string;
  readonly backend: string;
  readonly methods: readonly string[];
  readonly features: Json;
  readonly limits: Readonly<Record<string, number>>;
  readonly degraded: readonly { readonly what: string; readonly since_ms: number; readonly hint: string }[];
}

export interface Greeted {
  readonly connection: Connection;
  readonly greeting: Greeting;
}

export interface LinkTiming {
  /** Pauses between the tries of one attempt; one more try than pauses. */
  readonly backoffMs: readonly number[];
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  /** A connection that ends sooner than this was no good one. */
  readonly settledMs: number;
}

export interface LinkEvents {
  /** Connected and greeted. Must not throw. */
  readonly connected: (greeted: Greeted) => void;
  readonly degraded: (reason: string) => void;
}

const SHORT_LIVES_MAX = 3;

export class Link {
  readonly #open: (closing: AbortSignal) => Promise<Greeted>;
  readonly #timing: LinkTiming;
  readonly #events: LinkEvents;
  readonly #closing = new AbortController();
  #status: LinkStatus = "idle";
  #reason: string | null = null;
  #sinceMs = Date.now();
  #live: Greeted | null = null;
  #opening: Promise<Connection> | null = null;
  #refusal: CallError | null = null;
  #pauseMs = 0;
  #pauseEndMs = 0;
  #retryAtMs = 0;
  #shortLives = 0;

  /** `open` makes a connection and greets; it stops, and starts nothing, once its signal says that the client closes. */
  constructor(open: (closing: AbortSignal) => Promise<Greeted>, timing: LinkTiming, events: LinkEvents) {
    this.#open = open;
    this.#timing = timing;
    this.#events = events;
  }

  get status(): LinkStatus {
    return this.#status;
  }

  /** Why it is not connected, null where there is nothing to say. */
  get reason(): string | null {
    return this.#reason;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  get retryAtMs(): number | null {
    return this.#status === "degraded" ? this.#retryAtMs : null;
  }

  get live(): Greeted | null {
    return this.#live;
  }

  /** The connection. Throws Unavailable, or CallError where the bridge speaks another protocol. */
  async connection(signal: AbortSignal): Promise<Connection> {
    if (this.#status === "closed") throw new Unavailable("the client is closed", { lasting: true });
    if (this.#refusal !== null) throw this.#refusal;
    if (this.#live !== null) return this.#live.connection;
    if (this.#opening === null) {
      if (monotonicMs() < this.#pauseEndMs) throw this.#inPause();
      this.#opening = this.#attempt().finally(() => {
        this.#opening = null;
      });
      // Its failure is told to those who wait; where nobody does any more it is in the status.
      this.#opening.catch(() => undefined);
    }
    return this.#await(this.#opening, signal);
  }

  /** Use this connection for nothing new: the bridge said that it leaves. */
  retire(connection: Connection): void {
    if (this.#live?.connection !== connection) return;
    this.#live = null;
    this.#become("idle", "the bridge leaves");
  }

  /** End for good. What waits on the connection is lost. */
  close(): void {
    this.#become("closed", "the client is closed");
    this.#closing.abort(new Unavailable("the client is closed", { lasting: true }));
    this.#live?.connection.end("the client is closed");
    this.#live = null;
  }

  async #await(opening: Promise<Connection>, signal: AbortSignal): Promise<Connection> {
    if (signal.aborted) throw this.#impatience(signal.reason);
    let giveUp = (): void => undefined;
    const impatience = new Promise<never>((_, reject) => {
      giveUp = () => reject(this.#impatience(signal.reason));
      signal.addEventListener("abort", giveUp, { once: true });
    });
    try {
      return await Promise.race([opening, impatience]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Nothing was sent: a caller whose time is up learns that for certain, which a timeout would leave open. */
  #impatience(reason: unknown): unknown {
    if (!(reason instanceof CallTimeout)) return reason;
    const before = this.#reason === null ? "" : ` (${this.#reason})`;
    return new Unavailable(`the bridge was not ready within ${reason.timeoutMs} ms${before}`);
  }

  #inPause(): Unavailable {
    return new Unavailable(this.#reason ?? "the bridge cannot be reached", { retryAtMs: this.#retryAtMs });
  }

  /** First three tries, then one after each pause. */
  async #attempt(): Promise<Connection> {
    const backoffs = this.#pauseMs === 0 ? this.#timing.backoffMs : [];
    this.#become("connecting", this.#reason);
    for (let tries = 0; ; tries += 1) {
      try {
        return this.#welcome(await this.#open(this.#closing.signal));
      } catch (error) {
        this.#closing.signal.throwIfAborted();
        if (isCode(error, CODES.versionMismatch)) {
          this.#refusal = error;
          this.#become("refused", error.message);
          throw error;
        }
        const backoff = backoffs[tries];
        if (backoff === undefined || (error instanceof Unavailable && error.lasting)) throw this.#degrade(error);
        this.#reason = reasonOf(error);
        await sleep(backoff);
        this.#closing.signal.throwIfAborted();
      }
    }
  }

  #isClosed(): boolean {
    return this.#status === "closed";
  }

  #welcome(greeted: Greeted): Connection {
    const { connection } = greeted;
    if (this.#isClosed()) {
      connection.end("the client is closed");
      throw new Unavailable("the client is closed", { lasting: true });
    }
    this.#live = greeted;
    this.#become("connected", null);
    connection.onEnd((reason) => this.#lost(connection, reason));
    if (connection.ended === null) this.#events.connected(greeted);
    return connection;
  }

  #lost(connection: Connection, reason: string): void {
    const lived = monotonicMs() - connection.openedMs;
    const short = lived < this.#timing.settledMs && !this.#isClosed();
    if (!short) this.#pauseMs = 0;
    this.#shortLives = short ? this.#shortLives + 1 : 0;
    if (this.#live?.connection !== connection) return;
    this.#live = null;
    if (this.#isClosed()) return;
    this.#become("idle", reason);
    // A bridge that greets and dies would be started again for every call.
    if (this.#shortLives >= SHORT_LIVES_MAX) this.#degrade(new Unavailable(`the bridge keeps failing: ${reason}`));
  }

  /** Enter the pause, or a longer one. */
  #degrade(error: unknown): Unavailable {
    const { pauseMs, pauseMsMax } = this.#timing;
    this.#pauseMs = this.#pauseMs === 0 ? pauseMs : Math.min(2 * this.#pauseMs, pauseMsMax);
    // The pause is kept by the clock that nobody sets; the other one is for telling.
    this.#pauseEndMs = monotonicMs() + this.#pauseMs;
    this.#retryAtMs = Date.now() + this.#pauseMs;
    this.#become("degraded", reasonOf(error));
    this.#events.degraded(reasonOf(error));
    return this.#inPause();
  }

  #become(status: LinkStatus, reason: string | null): void {
    if (this.#status === "closed") return;
    if (this.#status !== status) this.#sinceMs = Date.now();
    this.#status = status;
    this.#reason = reason;
  }
}
