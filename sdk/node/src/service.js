// What each message of the host calls, and what is answered.

import { checkedAnswer } from "./answers.js";
import { Context } from "./context.js";
import { AnswerError, describe, RpcError, ToolError } from "./errors.js";
import { inParts } from "./image.js";
import { Life, SHUT_LINGER_MS } from "./life.js";
import { hint } from "./nearest.js";
import { CATALOGUE, ErrorCode, LIMITS } from "./protocol.js";
import { Toolbox } from "./toolbox.js";
import { plain } from "./values.js";

const LATE_MS = 500; // a function that comes back later than this after its cancel is logged

export class Service {
  #ordered = Promise.resolve(); // events, and `shutdown`, which waits for them
  #underWay = new Set();
  config = {};
  dataDir = ".";

  constructor(plugin, peer) {
    this.plugin = plugin;
    this.peer = peer;
    this.life = new Life(this);
    this.toolbox = new Toolbox(plugin.tools);
    plugin.attach(this);
  }

  /** Handle a call. Never throws, and answers every request. */
  take(call) {
    const name = call.method.slice(call.method.indexOf("/") + 1);
    if (call.id === undefined) {
      if (call.method === `event/${name}`) this.#next(() => this.#tell(name, call));
    } else if (call.method === "shutdown") {
      this.#next(async () => {
        await this.life.cleanUp(LIMITS.SHUTDOWN_TIMEOUT_S * 1000 + SHUT_LINGER_MS);
        this.peer.answer(call, {});
      });
    } else if (call.method === "initialize") {
      this.#hold(this.life.start(call));
    } else {
      this.#hold(this.#answer(call, name));
    }
  }

  /** Resolves when all running handlers are done. */
  async idle() {
    await Promise.allSettled([this.#ordered, ...this.#underWay]);
  }

  /** Ask the host, once it knows that the plugin has started. Throws as `Peer.ask` does. */
  async ask(method, params, signal) {
    await this.life.begun(method);
    return await this.peer.ask(method, params, signal);
  }

  /** The host has gone: nothing can be asked any more. */
  close() {
    this.peer.close();
    this.life.end();
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

  async #hook(call, name) {
    const handlers = this.plugin.hooks.filter((handler) => handler.name === name && handler.asked);
    if (!handlers.length) throw unknown(call.method);
    // if there is only one, the host has checked that it fits; to abstain if none fits would open
    // a guard
    const handler =
      handlers.length === 1 ? handlers[0] : handlers.find((other) => other.fits(call.params));
    if (handler === undefined)
      throw new RpcError(ErrorCode.INVALID_PARAMS, `no handler's match fits this ${name}`);
    return await this.run(handler, call, async () => {
      const answer = await handler.run(call.params, new Context(this, call));
      if (answer == null) return null;
      return held(checkedAnswer(name, handler.entry, answer, handler.replaces));
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
        await this.run(handler, call, () => handler.run(call.params, new Context(this, call)));
      } catch {
        // it is in the log, and an event has no reply
      }
    }
    if (name === "session_end") {
      this.plugin.sessions.forget(call.params.session_id);
      this.toolbox.forget(call.params.session_id);
    }
  }

  async #call(call) {
    const { name, session_id: sessionId, arguments: args } = call.params;
    const tool = this.toolbox.find(name, sessionId);
    try {
      return await this.run(tool, call, async () =>
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
    try {
      return await this.run(command, call, async () => {
        const text = await command.run(call.params.arguments, new Context(this, call));
        if (text != null && typeof text !== "string")
          throw new AnswerError(`returned ${typeof text}; a command returns its text`);
        return { text: text ?? "" };
      });
    } catch (error) {
      if (!(error instanceof ToolError && error.message)) throw error;
      // the user reads its text as it is
      throw new RpcError(ErrorCode.INTERNAL_ERROR, error.message, { cause: error });
    }
  }

  /** Run a function of the author; if it fails, log the stack and answer with the message. */
  async run(handler, call, work) {
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
    Object.keys(value).every((key) => ["content", "is_error", "data", "parts"].includes(key))
  ) {
    const data = value.data == null ? null : holdable(value.data);
    const result = { content: value.content, is_error: value.is_error ?? false, data };
    return value.parts == null ? result : { ...result, parts: holdable(value.parts) };
  }
  const shown = inParts(value);
  if (shown !== undefined) return shown;
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
