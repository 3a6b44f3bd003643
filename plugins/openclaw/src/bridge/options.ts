/**
 * What a client is made of, and what it gives back: options, results, state, and the times that it keeps.
 */

import type { RequestHandler } from "./answers.ts";
import type { Progress } from "./connection.ts";
import type { Greeting, LinkStatus, LinkTiming } from "./link.ts";
import type { Environment } from "./places.ts";
import type { SpoolCounts } from "./spool.ts";
import type { StartTiming } from "./spawn.ts";

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
  /** How long what could not be replayed is left alone, unless a new connection is made. */
  readonly replayPauseMs: number;
}

export const TIMING: Timing = {
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
  replayPauseMs: 30_000,
};
