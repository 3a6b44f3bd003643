/**
 * One connection to the bridge: requests out, replies in any order, the bridge's own requests served.
 *
 * Nothing here keeps the host's process alive and nothing here can bring it down: the socket has its error handler
 * before it connects, every promise that is given out is settled when the socket ends, and callbacks of the host's are
 * called where their exceptions end.
 */

import { connect, type Socket } from "node:net";

import { Answers, type RequestHandler } from "./answers.ts";
import { monotonicMs } from "./clock.ts";
import {
  callErrorOf,
  codeOf,
  ConnectionLost,
  encodeLine,
  isObject,
  type Json,
  LINE_BYTES_MAX,
  LineReader,
  Unavailable,
} from "./wire.ts";

export interface Progress {
  readonly done: number | null;
  readonly total: number | null;
  readonly message: string | null;
}

export interface RequestOptions {
  /** Fires when the caller gives up; its reason is what the caller gets. */
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly token: string | null;
  readonly onProgress: ((progress: Progress) => void) | null;
}

/** Replies have no limit in the protocol; this one keeps a broken peer from filling the host's memory. */
const REPLY_BYTES_MAX = 128 * 1024 * 1024;
/** What a bridge that has stopped reading may leave in our memory. */
const UNSENT_BYTES_MAX = 2 * LINE_BYTES_MAX;
const PENDING_MAX = 256;

/**
 * A connection to the socket at this path, before hello. Rejects with the system's error.
 *
 * The deadline is the caller's: connecting to a socket file answers at once, whatever the bridge is doing.
 */
export function openConnection(path: string, handler: RequestHandler | null): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.unref();
    socket.on("error", reject);
    socket.once("connect", () => resolve(new Connection(socket, handler)));
  });
}

export class Connection {
  /** On the monotonic clock. */
  readonly openedMs = monotonicMs();
  /** Longest request line that the bridge takes; hello says it. */
  lineBytesMax = LINE_BYTES_MAX;
  readonly #socket: Socket;
  readonly #reader = new LineReader(REPLY_BYTES_MAX);
  readonly #answers: Answers;
  readonly #pending = new Map<number, Pending>();
  #closedHandlers: ((reason: string) => void)[] = [];
  #nextId = 1;
  #endReason: string | null = null;
  #unanswered = 0;

  constructor(socket: Socket, handler: RequestHandler | null) {
    this.#socket = socket;
    this.#answers = new Answers(handler, (message) => this.#reply(message));
    socket.on("error", (error) => this.end(`the connection failed (${codeOf(error) || error.message})`));
    socket.on("end", () => this.end("the bridge closed the connection"));
    socket.on("close", () => this.end("the connection closed"));
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
  }

  /** Why the connection is over, null while it is not. */
  get ended(): string | null {
    return this.#endReason;
  }

  /** Requests that wait for an answer. */
  get pending(): number {
    return this.#pending.size;
  }

  /** How many requests in a row were given up without a word from the bridge since. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Call this once when the connection is over. */
  onEnd(handler: (reason: string) => void): void {
    if (this.#endReason !== null) handler(this.#endReason);
    else this.#closedHandlers.push(handler);
  }

  /** The answer to one request. Rejects with CallError, ConnectionLost, Unavailable or the reason of the signal. */
  request(method: string, params: Json, options: RequestOptions): Promise<unknown> {
    const { signal, onProgress } = options;
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.#endReason !== null) return Promise.reject(new ConnectionLost(this.#endReason, false));
    const id = this.#nextId;
    this.#nextId += 1;
    const token = onProgress ? `p${id}` : null;
    const asked = token === null ? params : { ...params, progress_token: token };
    return new Promise((resolve, reject) => {
      const line = encodeLine({ jsonrpc: "2.0", id, method, params: asked }, this.lineBytesMax);
      this.#checkRoom(line.length);
      const giveUp = (): void => this.#giveUp(id, signal.reason);
      signal.addEventListener("abort", giveUp, { once: true });
      const settled = <T>(settle: (value: T) => void) => {
        return (value: T): void => {
          signal.removeEventListener("abort", giveUp);
          settle(value);
        };
      };
      this.#pending.set(id, {
        resolve: settled(resolve),
        reject: settled(reject),
        token,
        onProgress: onProgress ?? null,
      });
      this.#socket.write(line);
    });
  }

  /** End the connection. What still waits for an answer is lost. */
  end(reason: string): void {
    if (this.#endReason !== null) return;
    this.#endReason = reason;
    this.#socket.destroy();
    this.#answers.end();
    for (const pending of this.#pending.values()) pending.reject(new ConnectionLost(reason, true));
    this.#pending.clear();
    const handlers = this.#closedHandlers;
    this.#closedHandlers = [];
    for (const handler of handlers) handler(reason);
  }

  #checkRoom(bytes: number): void {
    if (this.#pending.size >= PENDING_MAX) throw new Unavailable(`${PENDING_MAX} requests wait for an answer already`);
    const unsent = this.#socket.writableLength;
    if (unsent > 0 && unsent + bytes > UNSENT_BYTES_MAX) throw new Unavailable("the bridge does not read what is sent");
  }

  #giveUp(id: number, reason: unknown): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    this.#unanswered += 1;
    this.#reply({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } });
    pending.reject(reason);
  }

  /** Send what nobody waits for: a reply, a notification. */
  #reply(message: Json): void {
    if (this.#endReason !== null) return;
    try {
      const line = encodeLine(message);
      this.#checkUnsent(line.length);
      this.#socket.write(line);
    } catch (error) {
      const id = message["id"];
      if (message["error"] === undefined && id !== undefined) this.#reply({ jsonrpc: "2.0", id, error: bodyOf(error) });
    }
  }

  #checkUnsent(bytes: number): void {
    if (this.#socket.writableLength + bytes > 2 * UNSENT_BYTES_MAX) throw new Unavailable("too much is unsent");
  }

  #receive(chunk: Buffer): void {
    this.#unanswered = 0;
    try {
      for (const line of this.#reader.push(chunk)) {
        if (this.#endReason !== null) return;
        if (line.trim() !== "") this.#dispatch(JSON.parse(line));
      }
    } catch (error) {
      const what = error instanceof RangeError ? error.message : "a line that is no JSON";
      this.end(`the bridge sent ${what}`);
    }
  }

  #dispatch(message: unknown): void {
    if (!isObject(message)) return;
    const { id, method } = message;
    if (typeof method !== "string") this.#settle(message);
    else if (typeof id === "string" || typeof id === "number") this.#answers.request(id, method, message["params"]);
    else if (isObject(message["params"])) this.#notified(method, message["params"]);
  }

  /** A reply. One that comes after its caller gave up finds nobody and is dropped. */
  #settle(message: Json): void {
    const id = message["id"];
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    if (pending === undefined) return;
    this.#pending.delete(id as number);
    if (message["error"] === undefined) pending.resolve(message["result"]);
    else pending.reject(callErrorOf(message["error"]));
  }

  #notified(method: string, params: Json): void {
    if (method === "$/cancelRequest") this.#answers.cancel(params["id"]);
    if (method !== "$/progress") return;
    for (const pending of this.#pending.values()) {
      if (pending.token !== null && pending.token === params["token"]) tell(pending.onProgress, params);
    }
  }
}

/** Tell the host's callback how far it is. What the callback throws, now or later, is its own affair. */
function tell(callback: ((progress: Progress) => unknown) | null, params: Json): void {
  const { done, total, message } = params;
  const progress = {
    done: typeof done === "number" ? done : null,
    total: typeof total === "number" ? total : null,
    message: typeof message === "string" ? message : null,
  };
  void (async () => callback?.(progress))().catch(() => undefined);
}

function bodyOf(error: unknown): Json {
  const known = error instanceof Error ? error.message : "unknown";
  return { code: -32603, message: `the host's answer could not be sent: ${known}`, data: { kind: "internal" } };
}
