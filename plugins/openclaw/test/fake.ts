/**
 * A scripted bridge on a Unix socket, in the test's own process: it answers, freezes, is late, drops, dies as told.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { BridgeClient, type BridgeOptions, type Timing } from "../src/client.ts";

export type Json = Record<string, unknown>;

export interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params: Json;
  readonly peer: Peer;
}

/** What a script makes of a request: a result, an error to throw, or nothing at all for no answer. */
export type Script = (request: Request) => unknown;

export class Refusal extends Error {
  readonly body: Json;
  constructor(code: number, data: Json = {}, message = "refused") {
    super(message);
    this.body = { code, message, data };
  }
}

export const SILENCE = Symbol("no answer");

export class Peer {
  readonly socket: Socket;
  constructor(socket: Socket) {
    this.socket = socket;
  }

  send(message: Json): void {
    this.socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
}

/** A short folder of its own, removed after the test. */
export function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "ob-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export class FakeBridge {
  readonly path: string;
  readonly seen: Request[] = [];
  readonly scripts = new Map<string, Script>();
  readonly peers = new Set<Peer>();
  connections = 0;
  #server: Server | null = null;
  #waiting: (() => void)[] = [];

  constructor(path: string) {
    this.path = path;
    this.scripts.set("bridge.hello", ({ params }) => ({
      protocol: 1,
      server: { name: "fake", version: "0" },
      namespace: params["namespace"],
      role: "host",
      backend: "sqlite",
      methods: ["memory.capture", "memory.search"],
      features: {},
      limits: { line_bytes_max: 16 * 1024 * 1024 },
      degraded: [],
    }));
    this.scripts.set("memory.capture", () => ({ results: [], stored: 1, duplicates: 0, skipped: 0, redactions: 0 }));
    this.scripts.set("memory.search", ({ params }) => ({ hits: [], query: params["query"] }));
  }

  static async listening(t: TestContext, path: string): Promise<FakeBridge> {
    const bridge = new FakeBridge(path);
    await bridge.listen();
    t.after(() => bridge.die());
    return bridge;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server = createServer((socket) => this.#serve(socket));
      this.#server.once("error", reject);
      this.#server.listen(this.path, () => resolve());
    });
  }

  /** Drop every connection and stop listening. */
  async die(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.drop();
    if (server !== null) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  drop(): void {
    for (const { socket } of this.peers) socket.destroy();
    this.peers.clear();
  }

  /** Read nothing more, as a stopped process. */
  freeze(): void {
    for (const { socket } of this.peers) socket.pause();
  }

  thaw(): void {
    for (const { socket } of this.peers) socket.resume();
  }

  asked(method: string): Request[] {
    return this.seen.filter((request) => request.method === method);
  }

  /** When this many requests of a method have arrived. */
  async arrived(method: string, count = 1): Promise<Request[]> {
    while (this.asked(method).length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.asked(method);
  }

  #serve(socket: Socket): void {
    const peer = new Peer(socket);
    this.connections += 1;
    this.peers.add(peer);
    let text = "";
    socket.setEncoding("utf8");
    socket.on("error", () => undefined);
    socket.on("close", () => this.peers.delete(peer));
    socket.on("data", (chunk: string) => {
      text += chunk;
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) void this.#take(JSON.parse(line) as Json, peer);
    });
  }

  async #take(message: Json, peer: Peer): Promise<void> {
    const { id, method } = message;
    if (typeof method !== "string") {
      this.#note({ id, method: "reply", params: message, peer });
      return;
    }
    const request = { id, method, params: (message["params"] ?? {}) as Json, peer };
    this.#note(request);
    if (id === undefined) return;
    try {
      const result = await this.scripts.get(method)?.(request);
      if (result !== SILENCE) peer.send({ id, result });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      peer.send({ id, error: error.body });
    }
  }

  #note(request: Request): void {
    this.seen.push(request);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

/** A client for a test: short pauses, no bridge of its own unless the test says so. */
export function clientOf(
  t: TestContext,
  home: string,
  options: Partial<BridgeOptions> = {},
  timing: Partial<Timing> = {},
): BridgeClient {
  const named = { namespace: "default", name: "test", version: "0", home, spawn: false };
  const quick = { pollMs: 5, backoffMs: [1, 1], closeMs: 50 };
  const client = new BridgeClient({ ...named, ...options }, { ...quick, ...timing });
  t.after(() => client.close());
  return client;
}

/** When the condition holds; rejects where it does not come to. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 8000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error("it did not come to that");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const turn = (text: string): Json => ({
  messages: [{ role: "user", content: text }],
  identity: { user_id: "ana", session_id: "s1" },
});
