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
}

/**
 * Plays the host to one plugin. Fields of a payload that are left out get sample values. A call is
 * cancelled `cancelAfterMs` after it began, if it is not answered by then; it throws CallCancelled
 * when its handler has come back.
 */
export interface Harness {
  readonly plugin: Plugin<any, any>;
  /** what the plugin declares */
  readonly manifest: Manifest;
  /** the messages that the plugin sent to the host, in order; its log is in `logs` */
  readonly sent: { method: string; params: Record<string, any> }[];
  readonly logs: { level: string; message: string; fields?: Record<string, any> }[];
  /** Ask the plugin; null if it abstains or no `match` of it fits. Throws PluginError. */
  fire<N extends HookName>(
    name: N,
    fields?: Partial<Payloads[N]>,
    options?: { cancelAfterMs?: number },
  ): Promise<Answer | null>;
  /** Tell the plugin of an event, or of a hook as after an interrupt. Throws PluginError. */
  tell<N extends HookName | EventName>(name: N, fields?: Partial<Payloads[N]>): Promise<void>;
  /** Call a tool as a model does. Throws PluginError if there is no such tool. */
  callTool(
    name: string,
    args?: Record<string, unknown>,
    options?: { sessionId?: string; cancelAfterMs?: number },
  ): Promise<ToolResult>;
  /** Run a slash command; the result is the text for the user. Throws PluginError. */
  runCommand(name: string, text?: string, options?: { cancelAfterMs?: number }): Promise<string>;
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
