// Requests to the host from anywhere in the plugin's process: `plugin.host`.

import { HostRefused, NotConnected } from "./errors.js";
import { ErrorCode, GRANTS } from "./protocol.js";
import { added, removed, replaced } from "./toolbox.js";
import { plain } from "./values.js";

/**
 * Requests and log lines of the plugin, outside of a handler too: in a timer, in a server's
 * callback, in a promise that nobody awaits.
 *
 * Each request throws HostRefused (it is not granted, there are too many, the session has ended) or
 * NotConnected (the plugin does not run, or the host has gone). While the plugin starts, it waits
 * until the host knows that; so `onStart` must not await one.
 */
export class Host {
  #plugin;
  #service;

  constructor(plugin) {
    this.#plugin = plugin;
  }

  /** Connect with the service that runs the plugin. */
  attach(service) {
    this.#service = service;
  }

  /** Write a line to the plugin's log; before the plugin runs to standard error, which is it too. */
  log(level, message, fields) {
    if (this.#service !== undefined) this.#service.peer.log(level, message, fields);
    else console.error(`${level}: ${message}`, ...(fields === undefined ? [] : [fields]));
  }

  /** Show the user an alert. Needs `uses: ["notify"]`. */
  async notify(level, message) {
    await this.#ask("host/notify", { level, message });
  }

  /**
   * Put a text before the session's next model call, in the user's role. It starts no turn. Needs
   * `uses: ["inject"]`.
   */
  async inject(text, { sessionId } = {}) {
    await this.#ask("host/inject", { session_id: sessionId, text });
  }

  /**
   * Give the model a message, as if a user had written it; it begins a turn. The result has its
   * `message_id`, which `submission_end` names, and the `status`. Needs `uses: ["submit"]`.
   */
  async submit(text, { sessionKey, platform = null, userId = null } = {}) {
    const params = { session_key: sessionKey, platform, user_id: userId, text };
    return await this.#ask("host/submit", params);
  }

  /**
   * Interrupt the session's turn, or only the turn that is given; false if there was none. Needs
   * `uses: ["interrupt"]`.
   */
  async interrupt(reason, { sessionId, turnId = null } = {}) {
    const params = { session_id: sessionId, turn_id: turnId, reason };
    return (await this.#ask("host/interrupt", params)).interrupted === true;
  }

  /**
   * Ask the person in front of the agent; the result has the `outcome`, and if that is `answered`
   * the `answer`. `schema` is one value, or an object of such values; without it the answer is a
   * text. Asked only while a turn of the session is open, or `turnId`. If `signal` aborts, the
   * question is withdrawn, and its reason thrown. Needs `uses: ["ask"]`.
   */
  async ask(
    prompt,
    { sessionId, turnId = null, callId = null, schema = null, timeoutS = null, signal } = {},
  ) {
    if (schema !== null && schema?.type === undefined) {
      throw new TypeError(
        "the schema of a question needs a type: string, number, integer, boolean or object",
      );
    }
    const about = { session_id: sessionId, turn_id: turnId, call_id: callId };
    return await this.#ask("host/ask", { ...about, prompt, schema, timeout_s: timeoutS }, signal);
  }

  /**
   * Answer a question in the person's place: `allow` or `deny`, or what the `schema` of
   * `user_input_required` asks for; null: the plugin gives no answer. False if it was answered
   * before, or is over. Needs `uses: ["approve"]`.
   */
  async answer(choice, { sessionId, questionId } = {}) {
    const text = typeof choice === "string" || choice === null ? choice : jsonOf(choice);
    const params = { session_id: sessionId, question_id: questionId, choice: text };
    return (await this.#ask("host/answer", params)).taken === true;
  }

  /** Replace the tools of one session, or of all: see `Plugin.setTools`. */
  async setTools(tools, { sessionId = null } = {}) {
    await this.#change(replaced(tools), sessionId, (gone) =>
      this.log(
        "warning",
        `setTools() takes away ${gone.join(", ")}, which the plugin declares; addTool() keeps them`,
      ),
    );
  }

  /** Add a tool to those of one session, or of all: see `Plugin.addTool`. */
  async addTool(tool, { sessionId = null } = {}) {
    await this.#change(added(tool), sessionId);
  }

  /** Remove one of the tools of one session, or of all: see `Plugin.removeTool`. */
  async removeTool(name, { sessionId = null } = {}) {
    await this.#change(removed(name), sessionId);
  }

  async #change(change, sessionId, takesAway = () => {}) {
    const { life, toolbox } = this.#running("host/tools");
    await toolbox.change(sessionId, change, async (specs, gone) => {
      if (sessionId === null && !life.hasBegun) return; // the manifest will have them
      if (gone.length) takesAway(gone);
      await this.#ask("host/tools", { session_id: sessionId, tools: specs });
    });
  }

  async #ask(method, params, signal) {
    const grant = GRANTS[method];
    const what = grant === "tools" ? "changing tools" : `${method.split("/")[1]}()`;
    // the host would refuse too, but could not say how to correct it
    if (grant !== undefined && !this.#plugin.uses.includes(grant))
      throw new HostRefused(
        ErrorCode.NOT_GRANTED,
        `${what} needs uses: ["${grant}"] in new Plugin(${JSON.stringify(this.#plugin.name)}, ...)`,
      );
    return await this.#running(method).ask(method, params, signal);
  }

  #running(method) {
    if (this.#service === undefined)
      throw new NotConnected(
        `${method}: the plugin does not run: there is a host from onStart to onShutdown`,
      );
    return this.#service;
  }
}

function jsonOf(choice) {
  try {
    return JSON.stringify(plain(choice));
  } catch (error) {
    throw new TypeError(`choice cannot be sent: ${error.message}`);
  }
}
