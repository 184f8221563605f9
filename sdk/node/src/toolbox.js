// The tools that the host may call now. They may change while the plugin runs.

import { RpcError } from "./errors.js";
import { ErrorCode } from "./protocol.js";
import { Tool } from "./registration.js";

export class Toolbox {
  #declared = new Set();
  #tools; // by session id, and null for all sessions: Map of name to Tool
  #last = Promise.resolve(); // the change that is under way

  constructor(registered) {
    this.#tools = new Map([[null, new Map(registered)]]);
  }

  /** The specs of the tools of all sessions, for the manifest. */
  declare() {
    const tools = this.#tools.get(null);
    this.#declared = new Set(tools.keys());
    return specs(tools);
  }

  /** The tool of that name; a session's tool hides one of all sessions. Throws RpcError. */
  find(name, sessionId) {
    const tool = this.#tools.get(sessionId)?.get(name) ?? this.#tools.get(null).get(name);
    if (tool === undefined)
      throw new RpcError(ErrorCode.INVALID_PARAMS, `there is no tool ${JSON.stringify(name)} here`);
    return tool;
  }

  /**
   * Change the tools of a scope, one change after the other: a refused one must not bring back what
   * another has replaced. If `tell` throws, the old tools stay.
   *
   * @param sessionId the session, or null for all
   * @param changed gives the new tools from those that there are
   * @param tell tells the host; it gets the specs of the new tools, and the names of those that the
   *   manifest declares and that are not among them
   */
  async change(sessionId, changed, tell) {
    const turn = this.#last.then(() => this.#change(sessionId, changed, tell));
    this.#last = turn.catch(() => {});
    await turn;
  }

  /** Remove the tools of a session that has ended. */
  forget(sessionId) {
    this.#tools.delete(sessionId);
  }

  async #change(sessionId, changed, tell) {
    const before = this.#tools.get(sessionId) ?? new Map();
    const after = new Map();
    for (const tool of changed(before)) {
      if (after.has(tool.name))
        throw new TypeError(`two of the tools are called ${JSON.stringify(tool.name)}`);
      after.set(tool.name, tool);
    }
    const gone = [...before.keys()].filter((name) => this.#declared.has(name) && !after.has(name));
    // the host may call a new tool before its reply is read; calls of old ones may be on the way
    this.#tools.set(sessionId, new Map([...before, ...after]));
    try {
      await tell(specs(after), sessionId === null ? gone : []);
    } catch (error) {
      this.#tools.set(sessionId, before);
      throw error;
    }
    this.#tools.set(sessionId, after);
  }
}

const specs = (tools) => [...tools.values()].map((tool) => tool.spec);

/** A change to other tools. */
export function replaced(tools) {
  const given = [...tools].map(checked);
  return () => given;
}

/** A change that adds a tool. It throws RegistrationError if one has that name. */
export function added(tool) {
  checked(tool);
  return (now) => {
    const before = now.get(tool.name);
    if (before !== undefined)
      throw tool.wrong(`cannot be added: there is one of that name, at ${before.where}`);
    return [...now.values(), tool];
  };
}

/** A change that removes a tool. It throws RangeError if there is none of that name. */
export function removed(name) {
  return (now) => {
    if (!now.has(name))
      throw new RangeError(
        `there is no tool ${JSON.stringify(name)} among ${[...now.keys()].join(", ") || "no tools"}`,
      );
    return [...now.values()].filter((tool) => tool.name !== name);
  };
}

/** Throws TypeError if it is no Tool. */
export function checked(tool) {
  if (!(tool instanceof Tool))
    throw new TypeError("a tool is what new Tool(name, options, handler) makes");
  return tool;
}
