// What each message of the host calls, and what is answered.

import { checkAnswer } from "./answers.js";
import { Context } from "./context.js";
import { AnswerError, describe, RpcError, ToolError } from "./errors.js";
import { hint } from "./nearest.js";
import { CATALOGUE, ErrorCode, PROTOCOL_VERSIONS } from "./protocol.js";
import { Tool } from "./registration.js";
import { plain } from "./values.js";

const LATE_MS = 500; // a function that comes back later than this after its cancel is logged

export class Service {
  #tools; // by session id, and null for all sessions: Map of name to Tool
  #ordered = Promise.resolve(); // events, and `shutdown`, which waits for them
  #underWay = new Set();
  config = {};
  dataDir = ".";

  constructor(plugin, peer) {
    this.plugin = plugin;
    this.peer = peer;
    this.#tools = new Map([[null, new Map(plugin.tools)]]);
    plugin.attach(this);
  }

  /** Handle a call. Never throws, and answers every request. */
  take(call) {
    const name = call.method.slice(call.method.indexOf("/") + 1);
    if (call.id === undefined) {
      if (call.method === `event/${name}`) this.#next(() => this.#tell(name, call));
    } else if (call.method === "shutdown") {
      this.#next(() => this.peer.answer(call, {}));
    } else {
      this.#hold(this.#answer(call, name));
    }
  }

  /** Resolves when all running handlers are done. */
  async idle() {
    await Promise.allSettled([this.#ordered, ...this.#underWay]);
  }

  async setTools(tools, sessionId) {
    const changed = new Map();
    for (const tool of tools) {
      if (!(tool instanceof Tool))
        throw new TypeError("setTools() takes what new Tool(name, options, handler) makes");
      if (changed.has(tool.name))
        throw new TypeError(`two of the tools are called ${JSON.stringify(tool.name)}`);
      changed.set(tool.name, tool);
    }
    const before = this.#tools.get(sessionId) ?? new Map();
    // until the host has answered, both the old and the new tools can be called
    this.#tools.set(sessionId, new Map([...before, ...changed]));
    try {
      await this.peer.ask("host/tools", {
        session_id: sessionId,
        tools: [...changed.values()].map((tool) => tool.spec),
      });
    } catch (error) {
      this.#tools.set(sessionId, before);
      throw error;
    }
    this.#tools.set(sessionId, changed);
  }

  async #answer(call, name) {
    try {
      this.peer.answer(call, await this.#result(call, name));
    } catch (error) {
      this.peer.refuse(call, error);
    }
  }

  #result(call, name) {
    switch (call.method) {
      case "initialize":
        return this.#initialize(call.params);
      case "ping":
        return {};
      case "tool/call":
        return this.#call(call);
      case "command/run":
        return this.#command(call);
      case `hook/${name}`:
        return this.#hook(call, name);
      default:
        throw unknown(call.method);
    }
  }

  #initialize({ protocol_versions: theirs, plugin }) {
    if (!Array.isArray(theirs) || !theirs.some((version) => PROTOCOL_VERSIONS.includes(version))) {
      const ours = PROTOCOL_VERSIONS.join(", ");
      throw new RpcError(
        ErrorCode.INVALID_PARAMS,
        `no common version: the plugin ${this.plugin.name} speaks ${ours}, the host ${theirs}`,
      );
    }
    this.dataDir = plugin?.data_dir ?? ".";
    try {
      this.config = this.plugin.readConfig(plugin?.config ?? {});
    } catch (error) {
      // a plugin that is being installed has no name and no settings yet; the user must still see
      // what it wants
      return plugin?.name == null
        ? this.plugin.manifest()
        : this.plugin.manifest(`its settings do not fit: ${describe(error)}`);
    }
    return this.plugin.manifest();
  }

  async #hook(call, name) {
    const handlers = this.plugin.hooks.filter((handler) => handler.name === name && handler.asked);
    if (!handlers.length) throw unknown(call.method);
    // if there is only one, the host has checked that it fits; to abstain if none fits would open
    // a guard
    const handler =
      handlers.length === 1 ? handlers[0] : handlers.find((other) => other.fits(call.params));
    if (handler === undefined)
      throw new RpcError(ErrorCode.INVALID_PARAMS, `no handler's match fits this ${name}`);
    return await this.#run(handler, call, async () => {
      const answer = await handler.run(call.params, new Context(this, call));
      if (answer == null) return null;
      checkAnswer(name, handler.entry, answer, handler.replaces);
      return held(answer);
    });
  }

  async #tell(name, call) {
    const fitting = this.plugin.hooks.filter(
      (handler) => handler.name === name && handler.fits(call.params),
    );
    // the handler that would be asked, or all that are told of it as an event
    const asked = fitting.filter((handler) => handler.asked);
    const told = asked.length ? asked.slice(0, 1) : fitting;
    for (const handler of told) {
      try {
        await this.#run(handler, call, () => handler.run(call.params, new Context(this, call)));
      } catch {
        // it is in the log, and an event has no reply
      }
    }
    if (name === "session_end") {
      this.plugin.sessions.forget(call.params.session_id);
      this.#tools.delete(call.params.session_id);
    }
  }

  async #call(call) {
    const { name, session_id: sessionId, arguments: args } = call.params;
    const tool = this.#tools.get(sessionId)?.get(name) ?? this.#tools.get(null).get(name);
    if (tool === undefined)
      throw new RpcError(ErrorCode.INVALID_PARAMS, `there is no tool ${JSON.stringify(name)} here`);
    try {
      return await this.#run(tool, call, async () =>
        toolResult(await tool.run(args ?? {}, new Context(this, call))),
      );
    } catch (error) {
      if (call.cancelled) throw error; // it has stopped
      // the model reads the failure as a result
      return {
        content: failure(tool, error.cause ?? error),
        is_error: true,
        data: null,
      };
    }
  }

  async #command(call) {
    const command = this.plugin.commands.get(call.params.name);
    if (command === undefined)
      throw new RpcError(
        ErrorCode.INVALID_PARAMS,
        `there is no command ${JSON.stringify(call.params.name)} here`,
      );
    return await this.#run(command, call, async () => {
      const text = await command.run(call.params.arguments, new Context(this, call));
      if (text != null && typeof text !== "string")
        throw new AnswerError(`returned ${typeof text}; a command returns its text`);
      return { text: text ?? "" };
    });
  }

  /** Run a function of the author; if it fails, log the stack and answer with the message. */
  async #run(handler, call, work) {
    try {
      return await work();
    } catch (error) {
      if (call.cancelled || error instanceof ToolError) throw error;
      const stack = error instanceof AnswerError ? undefined : error?.stack;
      this.peer.log("error", `${handler.what}: ${describe(error)}`, {
        where: handler.where,
        traceback: stack,
      });
      throw new RpcError(ErrorCode.INTERNAL_ERROR, `${handler.what}: ${describe(error)}`, {
        cause: error,
      });
    } finally {
      this.#logIfLate(handler, call);
    }
  }

  /** Log a function that went on after its cancel, now that it has come back. */
  #logIfLate({ what, where }, { cancelledAt }) {
    if (cancelledAt === null) return;
    const lateMs = performance.now() - cancelledAt;
    if (lateMs < LATE_MS) return;
    this.peer.log(
      "warning",
      `${what} went on for ${(lateMs / 1000).toFixed(1)} s after it was cancelled; look at ctx.signal`,
      { handler: what, where, late_s: Math.round(lateMs) / 1000 },
    );
  }

  #next(work) {
    this.#ordered = this.#ordered.then(work);
  }

  #hold(work) {
    this.#underWay.add(work);
    work.finally(() => this.#underWay.delete(work));
  }
}

/** What the model reads of a tool that failed. */
function failure(tool, error) {
  if (error instanceof ToolError && error.message) return error.message;
  // what an AnswerError says has the function as its subject
  return error instanceof AnswerError ? `${tool.name}: ${error.message}` : describe(error);
}

/** An answer whose values JSON holds. */
function held(answer) {
  const changed = ["replace", "substitute"].filter((verb) => answer[verb] != null);
  if (!changed.length) return answer;
  const values = changed.map((verb) => {
    try {
      return [verb, plain(answer[verb])];
    } catch (error) {
      throw new AnswerError(`${verb}() has what JSON does not have: ${describe(error)}`);
    }
  });
  return { ...answer, ...Object.fromEntries(values) };
}

function toolResult(value) {
  if (value === undefined || value === null || typeof value === "string")
    return { content: value ?? "", is_error: false, data: null };
  if (
    typeof value === "object" &&
    typeof value.content === "string" &&
    Object.keys(value).every((key) => ["content", "is_error", "data"].includes(key))
  ) {
    const data = value.data == null ? null : holdable(value.data);
    return { content: value.content, is_error: value.is_error ?? false, data };
  }
  const held = holdable(value);
  return { content: JSON.stringify(held), is_error: false, data: held };
}

function holdable(value) {
  try {
    return plain(value);
  } catch (error) {
    throw new AnswerError(`returned ${kindOf(value)}, which JSON cannot hold: ${describe(error)}`);
  }
}

function kindOf(value) {
  return typeof value === "object" ? (value.constructor?.name ?? "object") : typeof value;
}

function unknown(method) {
  const known = [
    "initialize",
    "tool/call",
    "command/run",
    "ping",
    "shutdown",
    ...Object.keys(CATALOGUE).map((name) => `hook/${name}`),
  ];
  const close = known.includes(method) ? "" : hint(method, known);
  return new RpcError(ErrorCode.METHOD_NOT_FOUND, `unknown method ${method}${close}`);
}
