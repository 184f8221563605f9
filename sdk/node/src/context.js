// What a handler gets as `ctx`: what it works for, whether it is still wanted, and the way back to the host.

export class Context {
  #call;
  #service;

  constructor(service, call) {
    this.#service = service;
    this.#call = call;
  }

  /** The session that this is about. */
  get sessionId() {
    return this.#call.params.session_id;
  }

  /** The turn; null outside one. */
  get turnId() {
    return this.#call.params.turn_id;
  }

  /** The agent's span that this is part of, as W3C Trace Context writes it, for spans of the plugin's own; null without one. */
  get traceparent() {
    return this.#call.traceparent;
  }

  /** Aborted when the host withdraws the request: the user interrupted, or time was up. The answer will be dropped. */
  get signal() {
    return this.#call.signal;
  }

  /** The moment on `performance.now()` (milliseconds) after which nobody waits for the answer; null for events. */
  get deadline() {
    const { arrived, params } = this.#call;
    return typeof params.timeout_s === "number" ? arrived + params.timeout_s * 1000 : null;
  }

  /** The user's settings for the plugin, as `readConfig` gave them. */
  get config() {
    return this.#service.config;
  }

  /** A folder that is the plugin's own. */
  get dataDir() {
    return this.#service.dataDir;
  }

  /** The states of the sessions: `ctx.sessions.get(ctx.sessionId)`. */
  get sessions() {
    return this.#service.plugin.sessions;
  }

  /** Write a line to the plugin's log, with values beside it. */
  log(level, message, fields) {
    this.#service.peer.log(level, message, fields);
  }

  /** Say how far the work has come, `fraction` from 0 to 1. It never extends the timeout, and says nothing in an event or after a cancel. */
  progress(message, fraction) {
    if (this.#call.id !== undefined && !this.#call.cancelled) this.#service.peer.notify("$/progress", { id: this.#call.id, message, fraction });
  }

  /** Show the user an alert. Needs `uses: ["notify"]`. Throws HostRefused where it is not granted, or there were too many. */
  async notify(level, message) {
    this.#service.plugin.require("notify");
    await this.#service.peer.ask("host/notify", { level, message });
  }

  /** Put a text before the session's next model call, in the user's role. It starts no turn. Needs `uses: ["inject"]`. Throws HostRefused. */
  async inject(text) {
    this.#service.plugin.require("inject");
    await this.#service.peer.ask("host/inject", { session_id: this.sessionId, text });
  }

  /** Interrupt the turn that this call belongs to; false where it is over already. Needs `uses: ["interrupt"]`. Throws HostRefused. */
  async interrupt(reason) {
    this.#service.plugin.require("interrupt");
    const params = { session_id: this.sessionId, turn_id: this.turnId, reason };
    return (await this.#service.peer.ask("host/interrupt", params)).interrupted === true;
  }

  /** Replace the plugin's tools, as `Plugin.setTools` does. */
  async setTools(tools, options) {
    await this.#service.plugin.setTools(tools, options);
  }
}
