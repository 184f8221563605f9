// What a handler gets as `ctx`: its session, its deadline and cancel, and requests to the host.

import { setTimeout as sleep } from "node:timers/promises";

import { LIMITS } from "./protocol.js";

const CANCEL_FOLLOWS_MS = 250; // how long a call's cancel may come behind the end of its question

/** What every function of the author knows: the plugin's settings, its folder and its log. */
class PluginContext {
  #service;

  constructor(service) {
    this.#service = service;
  }

  /** The user's settings for the plugin, as `readConfig` returned them. */
  get config() {
    return this.#service.config;
  }

  /** The plugin's own folder. */
  get dataDir() {
    return this.#service.dataDir;
  }

  /** Write a line to the plugin's log, with values beside the message. */
  log(level, message, fields) {
    this.#service.peer.log(level, message, fields);
  }
}

/** `ctx` of `onStart` and `onShutdown`. */
export class LifeContext extends PluginContext {
  /** When the SDK stops waiting for the function, on `performance.now()`, in milliseconds. */
  deadline;

  constructor(service, deadline) {
    super(service);
    this.deadline = deadline;
  }
}

/** `ctx` of all other functions. */
export class Context extends PluginContext {
  #call;
  #service;

  constructor(service, call) {
    super(service);
    this.#service = service;
    this.#call = call;
  }

  /** The session that the call belongs to. */
  get sessionId() {
    return this.#call.params.session_id;
  }

  /** The agent's own name for the conversation, or null. */
  get sessionKey() {
    return this.#call.params.session_key ?? null;
  }

  /** Where the user is: `cli`, `api` and so on; or null. */
  get platform() {
    return this.#call.params.platform ?? null;
  }

  /** The user, as the agent names them, or null. */
  get userId() {
    return this.#call.params.user_id ?? null;
  }

  /** The project's folder, absolute, or null. The plugin's process runs in another one. */
  get cwd() {
    return this.#call.params.cwd ?? null;
  }

  /** The agent that acts; a child agent has its own. */
  get agentId() {
    return this.#call.params.agent_id;
  }

  /** The agent whose child this one is; null for the root. */
  get parentAgentId() {
    return this.#call.params.parent_agent_id ?? null;
  }

  /** 0 is the root agent. */
  get agentDepth() {
    return this.#call.params.agent_depth;
  }

  /**
   * The tool call that this is, or that the hook is about; else null. The same in `pre_tool_call`,
   * in the tool itself, in `post_tool_call` and in `inflight.tools` of an interrupt.
   */
  get callId() {
    return this.#call.params.call_id ?? null;
  }

  /** The number of the fire in its session; a tool and a command have that of the last one. */
  get seq() {
    return this.#call.params.seq;
  }

  /** An object of the agent's own, opaque to Sliphook, or null. */
  get meta() {
    return this.#call.params.meta ?? null;
  }

  /** The turn; null outside a turn. */
  get turnId() {
    return this.#call.params.turn_id;
  }

  /**
   * The agent's span that the call is part of, in the form of W3C Trace Context, or null. It is the
   * parent of spans that the plugin makes.
   */
  get traceparent() {
    return this.#call.traceparent;
  }

  /**
   * Aborted when the host withdraws the request: the user interrupted, or the time was up. The
   * answer will be dropped.
   */
  get signal() {
    return this.#call.signal;
  }

  /**
   * When the host stops waiting for the answer, on `performance.now()`, in milliseconds; null for
   * events.
   */
  get deadline() {
    const { arrived, params } = this.#call;
    return typeof params.timeout_s === "number" ? arrived + params.timeout_s * 1000 : null;
  }

  /** The states of the sessions: `ctx.sessions.get(ctx.sessionId)`. */
  get sessions() {
    return this.#service.plugin.sessions;
  }

  /**
   * Run a command to its end; the last line of its output is shown as progress. When the call is
   * cancelled or `timeoutS` is over, the command and all that it has started get SIGTERM, and
   * SIGKILL 0.3 s later. What it leaves behind when it ends by itself, too.
   *
   * `cwd` is the project's folder if left out, `env` are variables beside those of the plugin, and
   * of its output and of its errors `maxBytes` are kept each, half from the begin and half from the
   * end. Throws CommandError if it cannot be started, and the signal's reason after a cancel.
   */
  async run(args, options = {}) {
    const { runCommand } = await import("./command.js"); // most plugins need none
    const cwd = options.cwd ?? this.cwd ?? undefined;
    return await runCommand(args, { ...options, cwd }, this.signal, (line) => this.progress(line));
  }

  /**
   * Report how far the work is, `fraction` from 0 to 1. It does not extend the timeout. In an
   * event's handler and after a cancel it does nothing. Throws TypeError if one is of another type.
   */
  progress(message, fraction) {
    if (message != null && typeof message !== "string")
      throw new TypeError(`message must be a string, not ${typeof message}`);
    if (fraction != null && !Number.isFinite(fraction))
      throw new TypeError(`fraction must be a finite number, not ${String(fraction)}`);
    if (this.#call.id !== undefined && !this.#call.cancelled)
      this.#service.peer.notify("$/progress", { id: this.#call.id, message, fraction });
  }

  /**
   * Show the user a piece of the text that the answer will `substitute` for the model's: for
   * handlers of `pre_llm_call` with `replaces`. If the substituted response does not begin with what
   * was said, the user sees that it was given up. At most 1 MiB; after a cancel it does nothing.
   */
  say(text) {
    if (!this.#call.method.endsWith("/pre_llm_call"))
      throw new TypeError("ctx.say() is for handlers of pre_llm_call");
    for (let at = 0; at < text.length; ) {
      let end = at + LIMITS.STREAMED_PIECE_CHARS;
      // the two halves of one character stay together
      if (/[\ud800-\udbff]/.test(text[end - 1] ?? "")) end += 1;
      if (this.#call.id !== undefined && !this.#call.cancelled)
        this.#service.peer.notify("$/progress", { id: this.#call.id, text: text.slice(at, end) });
      at = end;
    }
  }

  /**
   * Show the user an alert. Needs `uses: ["notify"]`. Throws HostRefused if it is not granted, or
   * there were too many.
   */
  async notify(level, message) {
    await this.#service.plugin.host.notify(level, message);
  }

  /**
   * Put a text before the session's next model call, in the user's role. It starts no turn. Needs
   * `uses: ["inject"]`. Throws HostRefused.
   */
  async inject(text) {
    await this.#service.plugin.host.inject(text, { sessionId: this.sessionId });
  }

  /**
   * Interrupt the turn that this call belongs to; false if it was already over. Needs
   * `uses: ["interrupt"]`. Throws HostRefused.
   */
  async interrupt(reason) {
    const { sessionId, turnId } = this;
    return await this.#service.plugin.host.interrupt(reason, { sessionId, turnId });
  }

  /**
   * Ask the person in front of the agent, in the turn of this call; see `Host.ask`. The handler's
   * own timeout goes on meanwhile. Needs `uses: ["ask"]`. Throws the reason of `ctx.signal` after a
   * cancel, which ends the question.
   */
  async ask(prompt, { schema, timeoutS } = {}) {
    const { sessionId, turnId, signal } = this;
    // behind the call of that id its end would end the question too
    const isOpen = ["tool/call", "hook/pre_tool_call"].includes(this.#call.method);
    const about = { sessionId, turnId, callId: isOpen ? this.callId : null, signal };
    const result = await this.#service.plugin.host.ask(prompt, { ...about, schema, timeoutS });
    // what ended the question may also cancel the call, and the host says so a little later
    if (result.outcome === "interrupted" && this.#call.id !== undefined && turnId != null)
      await sleep(CANCEL_FOLLOWS_MS, undefined, { signal }).catch(() => {});
    signal.throwIfAborted();
    return result;
  }

  /** Answer a question in the person's place; see `Host.answer`. Needs `uses: ["approve"]`. */
  async answer(questionId, choice) {
    const { sessionId } = this;
    return await this.#service.plugin.host.answer(choice, { sessionId, questionId });
  }

  /** Replace the plugin's tools, as `Plugin.setTools` does. */
  async setTools(tools, options) {
    await this.#service.plugin.setTools(tools, options);
  }
}
