// The types of the SDK. Payloads and the like come from the protocol, see protocol.d.ts.

import type { AlertLevel, Answers, EnvWant, EventName, Heavy, HookName, Level, Manifest, OnFailure, Payloads, Uses } from "./protocol.js";

export type * from "./protocol.js";

type Name = HookName | EventName;
type Awaitable<T> = T | Promise<T>;
type Nothing = null | undefined | void;

/** Patterns (`*` and `?`), or lists of them, for string fields of the payload. */
export type Match<Payload> = { [Field in keyof Payload as Payload[Field] extends string | null ? Field : never]?: string | readonly string[] };

export interface EventOptions<N extends Name> {
  /** only what fits all of them is told or asked about */
  match?: Match<Payloads[N]>;
  /** heavy fields of the payload to fill in */
  include?: readonly Heavy[N][];
  /** child agents too; left out, it is the hook's own */
  subagents?: boolean;
  /** no error where the host does not know the name */
  optional?: boolean;
}

export interface HookOptions<N extends HookName> extends EventOptions<N> {
  /** seconds to answer, 0.05 to 600; left out, 5 */
  timeoutS?: number;
  /** `closed`: a failed answer denies; `open`: it abstains; left out, it is the hook's own */
  onFailure?: OnFailure;
  /** high is asked first */
  priority?: number;
  /** the answers may `replace` and `substitute` */
  replaces?: boolean;
}

export interface ToolOptions {
  /** what the model reads to decide */
  description?: string;
  /** JSON Schema of the arguments, an object; the host checks them. Left out, it takes any */
  schema?: Record<string, unknown>;
  /** seconds that one call may take, 0.05 to 600; left out, 30 */
  timeoutS?: number;
}

export interface CommandOptions {
  /** one line for `/help` */
  description?: string;
}

export interface PluginOptions<State, Config> {
  /** the plugin's own version */
  version?: string;
  /** one line for people */
  description?: string;
  /** what it asks of the host; the user must grant it */
  uses?: readonly Uses[];
  /** environment variables that it wants; a bare name is one that it can do without */
  env?: readonly (EnvWant | string)[];
  /** JSON Schema of the user's settings */
  configSchema?: Record<string, unknown>;
  /** checks the user's settings and gives what handlers find as `ctx.config`; what it throws disables the plugin */
  readConfig?: (config: Record<string, any>) => Config;
  /** makes the state of one session */
  sessions?: () => State;
  /** why the plugin shall be left out today; the user reads it */
  disabled?: string;
}

export interface Sessions<State> extends Iterable<[string, State]> {
  /** The state of a session, made when it is first asked for; gone after `session_end`. */
  get(sessionId: string): State;
  has(sessionId: string): boolean;
  readonly size: number;
}

export interface Context<State = unknown, Config = Record<string, any>> {
  /** the session that this is about */
  readonly sessionId: string;
  /** the turn; null outside one */
  readonly turnId: string | null;
  /** The agent's span that this is part of, as W3C Trace Context writes it, for spans of the plugin's own; null without one. */
  readonly traceparent: string | null;
  /** aborted when the host withdraws the request; the answer will be dropped */
  readonly signal: AbortSignal;
  /** the moment on `performance.now()` (milliseconds) after which nobody waits for the answer; null for events */
  readonly deadline: number | null;
  /** the user's settings for the plugin */
  readonly config: Config;
  /** a folder that is the plugin's own */
  readonly dataDir: string;
  readonly sessions: Sessions<State>;
  /** Write a line to the plugin's log, with values beside it. */
  log(level: Level, message: string, fields?: Record<string, unknown>): void;
  /** Say how far the work has come, `fraction` from 0 to 1. It never extends the timeout. */
  progress(message?: string, fraction?: number): void;
  /** Show the user an alert. Needs `uses: ["notify"]`. Throws HostRefused. */
  notify(level: AlertLevel, message: string): Promise<void>;
  /** Put a text before the session's next model call; it starts no turn. Needs `uses: ["inject"]`. Throws HostRefused. */
  inject(text: string): Promise<void>;
  /** Interrupt the turn of this call; false where it is over already. Needs `uses: ["interrupt"]`. Throws HostRefused. */
  interrupt(reason: string): Promise<boolean>;
  /** Replace the plugin's tools of one session, or of all. Needs `uses: ["tools"]`. Throws HostRefused. */
  setTools(tools: Iterable<Tool<State, Config>>, options?: { sessionId?: string | null }): Promise<void>;
}

type HookHandler<N extends HookName, State, Config> = (payload: Payloads[N], ctx: Context<State, Config>) => Awaitable<Answers[N] | Nothing>;
type EventHandler<N extends Name, State, Config> = (payload: Payloads[N], ctx: Context<State, Config>) => unknown;
type ToolHandler<State, Config> = (args: Record<string, any>, ctx: Context<State, Config>) => unknown;
type CommandHandler<State, Config> = (text: string, ctx: Context<State, Config>) => Awaitable<string | Nothing>;

/** A function as a tool, for `setTools`. It returns a text, any value that JSON holds, a `ToolResult`, or nothing. */
export class Tool<State = unknown, Config = Record<string, any>> {
  constructor(name: string, options: ToolOptions, run: ToolHandler<State, Config>);
  readonly name: string;
}

export class Plugin<State = unknown, Config = Record<string, any>> {
  constructor(name: string, options?: PluginOptions<State, Config>);
  readonly name: string;
  readonly sessions: Sessions<State>;

  /** Let the function be asked. It returns an answer, or nothing to abstain. */
  hook<N extends HookName>(name: N, handler: HookHandler<N, State, Config>): this;
  hook<N extends HookName>(name: N, options: HookOptions<N>, handler: HookHandler<N, State, Config>): this;
  /** Let the function be told, of an event or of a hook. Several run one after the other, in the order of the messages. */
  on<N extends Name>(name: N, handler: EventHandler<N, State, Config>): this;
  on<N extends Name>(name: N, options: EventOptions<N>, handler: EventHandler<N, State, Config>): this;
  /** Offer the function to the model. */
  tool(name: string, handler: ToolHandler<State, Config>): this;
  tool(name: string, options: ToolOptions, handler: ToolHandler<State, Config>): this;
  /** Make the function a slash command; it returns the text for the user. */
  command(name: string, handler: CommandHandler<State, Config>): this;
  command(name: string, options: CommandOptions, handler: CommandHandler<State, Config>): this;
  /** What the host is told. */
  manifest(): Manifest;
  /** Replace the plugin's tools of one session, or of all. Needs `uses: ["tools"]`. Throws HostRefused. */
  setTools(tools: Iterable<Tool<State, Config>>, options?: { sessionId?: string | null }): Promise<void>;
  /** Serve the host on standard input and output until it says `exit`. The last line of a plugin. */
  run(): void;
}

/** An answer, and a way to join it with another. */
export type Joined<Fields> = Readonly<Fields> & {
  /** Both answers in one: `allow().and(context("..."))`. Throws where both say the same thing. */
  and<Other>(other: Joined<Other>): Joined<Fields & Other>;
};

/** The plugin is for it. An opinion: it skips none of the agent's own rules. */
export function allow(reason?: string): Joined<{ decision: "allow"; reason?: string }>;
/** It must not happen. The reason is for people and for the model. */
export function deny(reason: string): Joined<{ decision: "deny"; reason: string }>;
/** A person shall decide. The reason is what they read. */
export function ask(reason: string): Joined<{ decision: "ask"; reason: string }>;
/** Other values for fields of the payload, each put whole in the place of the old one; needs `replaces: true`. */
export function replace<Fields extends object>(fields: Fields): Joined<{ replace: Fields }>;
/** What stands in for the call, which then does not happen; needs `replaces: true`. */
export function substitute<Fields extends object>(fields: Fields): Joined<{ substitute: Fields }>;
/** Texts that the model shall read; the host labels them with the plugin's name. */
export function context(...texts: string[]): Joined<{ context: readonly string[] }>;
/** In `stop`: do not stop, go on with this as the next message. */
export function continueWith(text: string): Joined<{ continue_with: string }>;

/** The author's: something was registered wrongly. The message begins with the file and the line. */
export class RegistrationError extends Error {}
/** The author's: a handler returned something that is not allowed there. */
export class AnswerError extends Error {}
/** A tool's own way to fail: the model reads the message as it is, and nothing is logged. */
export class ToolError extends Error {}
/** The host did not do what the plugin asked for. */
export class HostRefused extends Error {
  constructor(code: number, message: string);
  readonly code: number;
}

export const ErrorCode: Readonly<
  Record<
    | "PARSE_ERROR"
    | "INVALID_REQUEST"
    | "METHOD_NOT_FOUND"
    | "INVALID_PARAMS"
    | "INTERNAL_ERROR"
    | "REQUEST_CANCELLED"
    | "NOT_READY"
    | "UNKNOWN_SESSION"
    | "NOT_GRANTED"
    | "BUSY",
    number
  >
>;
