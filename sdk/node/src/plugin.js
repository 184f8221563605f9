// A `Plugin`, and the methods that register its functions.

import { RegistrationError } from "./errors.js";
import { Host } from "./host.js";
import { LifeHandler } from "./life.js";
import { hint } from "./nearest.js";
import { NAME_PATTERNS, PROTOCOL_VERSIONS, RESERVED_PLUGINS, USES } from "./protocol.js";
import { inTheWay } from "./reach.js";
import { callSite, Command, fitsName, HookHandler, Tool } from "./registration.js";
import { run } from "./run.js";
import { Sessions } from "./sessions.js";
import { checked } from "./toolbox.js";

const OPTIONS = [
  "version",
  "description",
  "uses",
  "env",
  "servers",
  "configSchema",
  "readConfig",
  "sessions",
  "disabled",
];

const LATE = "is registered too late, when the plugin runs: do it before plugin.run()";

export class Plugin {
  #options;
  #service; // while it runs

  constructor(name, options = {}) {
    const where = callSite();
    const wrong = (why) => new RegistrationError(`${where === "" ? "" : `${where}: `}${why}`);
    if (!fitsName("plugin", name))
      throw wrong(
        `${JSON.stringify(name)} cannot be a plugin's name: names are ${NAME_PATTERNS.plugin}`,
      );
    if (RESERVED_PLUGINS.includes(name))
      throw wrong(
        `${JSON.stringify(name)} cannot be a plugin's name: it would say that someone else has done what the plugin does; take another one than ${RESERVED_PLUGINS.join(", ")}`,
      );
    for (const option of Object.keys(options)) {
      if (!OPTIONS.includes(option))
        throw wrong(`a plugin has no option ${JSON.stringify(option)}${hint(option, OPTIONS)}`);
    }
    for (const use of options.uses ?? []) {
      if (!USES.includes(use))
        throw wrong(
          `the plugin ${name} uses ${JSON.stringify(use)}, which is not among ${USES.join(", ")}`,
        );
    }
    if (options.servers?.length && !options.uses?.includes("route"))
      throw wrong(`the plugin ${name} has servers, which needs uses: ["route"]`);
    this.name = name;
    this.sessions = new Sessions(options.sessions);
    this.hooks = [];
    this.tools = new Map();
    this.commands = new Map();
    this.life = new Map(); // by the moment: onStart, onShutdown
    this.uses = options.uses ?? [];
    this.host = new Host(this);
    this.#options = options;
  }

  /** Register a function that answers a hook: `(payload, ctx)`; it returns an answer or nothing. */
  hook(name, ...rest) {
    const [options, handler] = split(rest);
    return this.#subscribe(new HookHandler(name, options, handler, true));
  }

  /**
   * Register a function that is told of an event: `(payload, ctx)`. Several may be told of one
   * event; they run one after the other, in the order of the messages.
   */
  on(name, ...rest) {
    const [options, handler] = split(rest);
    return this.#subscribe(new HookHandler(name, options, handler, false));
  }

  /** Register a function as a tool of the model: `(args, ctx)`. */
  tool(name, ...rest) {
    const [options, handler] = split(rest);
    const tool = new Tool(name, options, handler);
    if (this.#service !== undefined) throw tool.wrong(`${LATE}, or by addTool() when it runs`);
    return this.#add(this.tools, tool);
  }

  /** Register a function as a slash command: `(text, ctx)`. */
  command(name, ...rest) {
    const [options, handler] = split(rest);
    return this.#add(this.commands, new Command(name, options, handler));
  }

  /**
   * Register the function that is called before the host is told that the plugin is ready: `(ctx)`.
   * It returns nothing, or `disabled(reason)`. If it throws, the plugin fails to start.
   */
  onStart(handler) {
    return this.#live("onStart", handler);
  }

  /** Register the function that is called once at the end: `(ctx)`. */
  onShutdown(handler) {
    return this.#live("onShutdown", handler);
  }

  /**
   * What the plugin declares to the host. `disabled` is a reason not to take part that was found at
   * the start.
   */
  manifest(disabled = this.#options.disabled) {
    const { version, description, env, servers, configSchema } = this.#options;
    return {
      protocol_version: PROTOCOL_VERSIONS.at(-1),
      name: this.name,
      version,
      description,
      subscriptions: this.#subscriptions(),
      tools: [...this.tools.values()].map((tool) => tool.spec),
      commands: [...this.commands.values()].map((command) => command.spec),
      uses: this.uses,
      env: env?.map((want) => (typeof want === "string" ? { name: want } : want)),
      servers,
      config_schema: configSchema,
      disabled,
    };
  }

  /** The user's settings, through the author's `readConfig`. Throws what that throws. */
  readConfig(config) {
    return this.#options.readConfig === undefined ? config : this.#options.readConfig(config);
  }

  /**
   * Replace the plugin's tools of one session, or of all. Needs `uses: ["tools"]`. Either all of
   * them take effect or none: if the host refuses, HostRefused is thrown and the old tools stay.
   * Without a session, the tools of `tool()` go too unless they are among the new ones, and the log
   * says so; `addTool` leaves them.
   */
  async setTools(tools, options) {
    await this.host.setTools(tools, options);
  }

  /**
   * Add a tool to those of one session, or of all. Until the plugin has started, in `onStart` too,
   * it is declared, as by `tool()`; after that it needs `uses: ["tools"]`. Throws RegistrationError if there is one
   * of that name, and HostRefused; then the tools stay as they were.
   */
  async addTool(tool, options) {
    if (this.#service !== undefined) await this.host.addTool(tool, options);
    else this.#add(this.tools, checked(tool));
  }

  /**
   * Remove one of the tools of one session, or of all, also one of `tool()`. For when and where see
   * `addTool`. Throws RangeError if there is none of that name.
   */
  async removeTool(name, options) {
    if (this.#service !== undefined) await this.host.removeTool(name, options);
    else if (!this.tools.delete(name))
      throw new RangeError(`the plugin ${this.name} has no tool ${JSON.stringify(name)}`);
  }

  /** Connect the plugin with the service that runs it. */
  attach(service) {
    this.#service = service;
    this.host.attach(service);
  }

  /** Serve the host on standard input and output until `exit`. The last line of a plugin. */
  run() {
    run(this);
  }

  #subscribe(handler) {
    this.#checkInTime(handler);
    const rivals = this.hooks.filter((other) => other.asked && other.name === handler.name);
    const claims = [...rivals, handler].map((one) => one.claim);
    const by = handler.asked ? inTheWay(handler.name, claims) : undefined;
    if (by !== undefined)
      throw handler.wrong(
        `would never be asked: all that it matches goes to those before it, such as the one at ${rivals[by].where}`,
      );
    this.hooks.push(handler);
    return this;
  }

  #live(moment, run) {
    return this.#add(this.life, new LifeHandler(moment, run), moment);
  }

  #add(registered, handler, name = handler.name) {
    this.#checkInTime(handler);
    const before = registered.get(name);
    if (before !== undefined)
      throw handler.wrong(`is registered twice; the other is at ${before.where}`);
    registered.set(name, handler);
    return this;
  }

  /** Throws RegistrationError if the host has read what the plugin declares. */
  #checkInTime(handler) {
    if (this.#service?.life.hasBegun) throw handler.wrong(LATE);
  }

  #subscriptions() {
    const found = new Map();
    for (const { name, asked, subscription } of this.hooks) {
      // one message tells all handlers of an event, so it has the fields that any of them includes
      const told = this.hooks.filter((other) => other.name === name && !other.asked);
      const wanted = asked
        ? subscription.include
        : [...new Set(told.flatMap((other) => other.subscription.include ?? []))].sort();
      const whole = { ...subscription, include: wanted?.length ? wanted : undefined };
      found.set(JSON.stringify(whole), whole);
    }
    const keepsMore = this.#options.sessions !== undefined || this.uses.includes("tools");
    if (
      keepsMore &&
      !this.hooks.some((handler) => handler.name === "session_end" && handler.matchesAll)
    ) {
      found.set("session_end", { event: "session_end" });
    }
    return [...found.values()];
  }
}

/** `(handler)` or `(options, handler)`. */
function split(rest) {
  return rest.length < 2 ? [{}, rest[0]] : rest;
}
