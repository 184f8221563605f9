// The types of `sliphook-sdk/testing`.

import type { Plugin } from "./index.js";
import type {
  Answer,
  AskParams,
  EventName,
  HookName,
  Manifest,
  Payloads,
  ToolResult,
  Uses,
} from "./protocol.js";

export interface HarnessOptions {
  /** the user's settings, as in JSON */
  config?: Record<string, unknown>;
  /** the plugin's own folder */
  dataDir?: string;
  /** the uses that the user grants; requests that need another one are refused. All if left out */
  granted?: readonly Uses[];
  /** the project's folder; if left out, payloads have one that does not exist */
  cwd?: string;
  /**
   * answers what the plugin asks; null declines. What does not fit the question's schema is a
   * TypeError of the call. Nobody can be asked if left out
   */
  person?: (question: AskParams) => unknown;
  /**
   * time jumps on where a handler only waits for timers; while a call runs, the timers and
   * `performance.now()` of the process are the harness's
   */
  jumps?: boolean;
}

/** What cancels a call. */
export interface Ends {
  /** milliseconds from its begin, as a user who interrupts */
  cancelAfterMs?: number;
  /** gets each report of its progress, and says whether that is the moment */
  cancelWhen?: (progress: { message?: string; fraction?: number; text?: string }) => boolean;
  /** how long the host waits: `ctx.deadline` is then, and the call is cancelled */
  timeoutS?: number;
}

/**
 * Plays the host to one plugin. Fields of a payload that are left out get sample values. A call that
 * is cancelled throws CallCancelled when its handler has come back.
 */
export interface Harness {
  readonly plugin: Plugin<any, any>;
  /** what the plugin declares */
  readonly manifest: Manifest;
  /** the messages that the plugin sent to the host, in order; its log is in `logs` */
  readonly sent: { method: string; params: Record<string, any> }[];
  /** what handlers have reported with `ctx.progress` and `ctx.say`; `sent` has it too */
  readonly progress: { id: number; message?: string; fraction?: number; text?: string }[];
  readonly logs: { level: string; message: string; fields?: Record<string, any> }[];
  /** Ask the plugin; null if it abstains or no `match` of it fits. Throws PluginError. */
  fire<N extends HookName>(
    name: N,
    fields?: Partial<Payloads[N]>,
    ends?: Ends,
  ): Promise<Answer | null>;
  /** Tell the plugin of an event, or of a hook as after an interrupt. Throws PluginError. */
  tell<N extends HookName | EventName>(name: N, fields?: Partial<Payloads[N]>): Promise<void>;
  /** Call a tool as a model does. Throws PluginError if there is no such tool. */
  callTool(
    name: string,
    args?: Record<string, unknown>,
    options?: Ends & { sessionId?: string },
  ): Promise<ToolResult>;
  /** Run a slash command; the result is the text for the user. Throws PluginError. */
  runCommand(name: string, text?: string, ends?: Ends): Promise<string>;
  /** End the plugin, as the host does: `onShutdown` is called. Throws PluginError if it threw. */
  close(): Promise<void>;
}

/**
 * Play the host to a plugin: the object, or the URL of its file. The file is loaded anew, and its
 * `plugin.run()` does nothing.
 */
export function harness(
  plugin: Plugin<any, any> | URL | string,
  options?: HarnessOptions,
): Promise<Harness>;

/**
 * The plugin would have answered with an error. The message is what the host would have read; the
 * handler's exception is the cause.
 */
export class PluginError extends Error {}

/** The call was cancelled, as the test has asked; what the handler returned is dropped. */
export class CallCancelled extends Error {}
