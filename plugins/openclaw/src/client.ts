/**
 * The client of octop-bridge for programs in Node: what the plugin uses, and nothing of its inside.
 */

export type { RequestHandler } from "./bridge/answers.ts";
export { BridgeClient } from "./bridge/client.ts";
export type { Progress } from "./bridge/connection.ts";
export type { Greeting, LinkStatus } from "./bridge/link.ts";
export {
  type BridgeOptions,
  type BridgeState,
  type CallOptions,
  type CaptureResult,
  type Identity,
  PROTOCOL_VERSION,
  type Spooled,
  type Timing,
} from "./bridge/options.ts";
export { CallError, CallTimeout, Unavailable } from "./bridge/wire.ts";
