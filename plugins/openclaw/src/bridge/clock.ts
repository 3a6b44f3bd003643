/**
 * Time as the client uses it: a clock that nobody sets, deadlines, pauses.
 */

import { CallTimeout, cancelled } from "./wire.ts";

/** What a timer of Node's can hold; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Milliseconds since some fixed moment. A clock that is set back does not lengthen a pause. */
export function monotonicMs(): number {
  return performance.now();
}

/** A pause that keeps nobody's process alive. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

/** Wait for the work, no longer than this. The work goes on. */
export async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, time]).finally(() => clearTimeout(timer));
}

export interface Deadline {
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * A signal that fires when the time is up or the caller gives up.
 *
 * The time counts as up one turn of the event loop later: where the host was busy until past the deadline, an answer
 * that arrived in time is read first. `holding` keeps the process alive until the end.
 */
export function deadline(method: string, ms: number, caller: AbortSignal | undefined, holding = true): Deadline {
  const controller = new AbortController();
  const timeUp = (): void => controller.abort(new CallTimeout(method, ms));
  const timer = setTimeout(() => setImmediate(timeUp), Math.min(Math.max(0, ms), TIMER_MS_MAX));
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
