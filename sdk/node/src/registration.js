// The author's functions, checked when they are registered. Errors begin with that file and line.

import { whyNever } from "./domains.js";
import { RegistrationError } from "./errors.js";
import { matcher } from "./matching.js";
import { hint } from "./nearest.js";
import { CATALOGUE, LIMITS, NAME_PATTERNS, RESERVED_COMMANDS } from "./protocol.js";

const HOOK_OPTIONS = [
  "match",
  "timeoutS",
  "onFailure",
  "priority",
  "replaces",
  "include",
  "subagents",
  "attempts",
  "optional",
];
const EVENT_OPTIONS = ["match", "include", "subagents", "optional"];
const TOOL_OPTIONS = ["description", "schema", "timeoutS"];
const COMMAND_OPTIONS = ["description"];
const HERE = new URL(".", import.meta.url).href;

/** Where the author's code called the SDK, such as `/home/ada/guard.mjs:7`, or "". */
export function callSite() {
  return placeIn(new Error().stack);
}

/** The first place of the author's code in a stack, or "". */
export function placeIn(stack) {
  const line = String(stack)
    .split("\n")
    .find((text) => /^ +at /.test(text) && !text.includes(HERE) && !text.includes("node:"));
  const place = /\(?((?:file:\/\/)?\/[^()]+?):\d+\)?$/.exec(line ?? "");
  return place === null ? "" : place[1].replace("file://", "");
}

/** A function that the author registered, and its name in messages. */
export class Handler {
  constructor(what, run) {
    this.where = callSite();
    this.what = what;
    this.run = run;
    if (typeof run !== "function") throw this.wrong("needs a function as its last argument");
  }

  wrong(why) {
    return new RegistrationError(
      `${this.where === "" ? "" : `${this.where}: `}${this.what} ${why}`,
    );
  }

  checkOptions(options, known) {
    if (options === null || typeof options !== "object")
      throw this.wrong("takes an object of options before the function");
    for (const name of Object.keys(options)) {
      if (!known.includes(name))
        throw this.wrong(`has no option ${JSON.stringify(name)}${hint(name, known)}`);
    }
  }

  checkTimeout(timeoutS) {
    if (timeoutS === undefined) return;
    if (!(timeoutS >= LIMITS.MIN_TIMEOUT_S && timeoutS <= LIMITS.MAX_TIMEOUT_S)) {
      throw this.wrong(
        `cannot have timeoutS ${timeoutS}: ` +
          `it takes ${LIMITS.MIN_TIMEOUT_S} to ${LIMITS.MAX_TIMEOUT_S} seconds`,
      );
    }
  }
}

/** A function that is asked (`hook`) or told (`on`). `subscription` goes into the manifest. */
export class HookHandler extends Handler {
  constructor(name, options, run, asked) {
    super(`${asked ? "hook" : "on"}(${JSON.stringify(name)})`, run);
    this.name = name;
    this.asked = asked;
    this.entry = Object.hasOwn(CATALOGUE, name) ? CATALOGUE[name] : undefined;
    if (this.entry === undefined)
      throw this.wrong(`names no hook or event${hint(String(name), Object.keys(CATALOGUE))}`);
    this.checkOptions(options, asked ? HOOK_OPTIONS : EVENT_OPTIONS);
    this.#check(options);
    this.replaces = options.replaces === true;
    this.subagents = options.subagents ?? this.entry.subagents;
    this.matchesAll = Object.keys(options.match ?? {}).length === 0;
    this.matches = matcher(options.match);
    this.subscription = {
      event: name,
      mode: !asked && this.entry.kind === "hook" ? "event" : undefined,
      match: options.match,
      timeout_s: options.timeoutS,
      on_failure: options.onFailure,
      priority: options.priority,
      replaces: options.replaces,
      include: options.include,
      subagents: options.subagents,
      attempts: options.attempts,
      optional: options.optional,
    };
  }

  /** True if the host would choose the plugin because of this handler. */
  fits(payload) {
    return (this.subagents || payload.agent_depth === 0) && this.matches(payload);
  }

  /** What the host chooses the plugin for because of this handler. */
  get claim() {
    const match = Object.entries(this.subscription.match ?? {});
    return {
      match: Object.fromEntries(match.map(([field, globs]) => [field, [globs].flat()])),
      subagents: this.subagents,
    };
  }

  #check({ match, timeoutS, onFailure, replaces, include, attempts }) {
    const { name, entry } = this;
    if (this.asked && entry.kind === "event")
      throw this.wrong(`cannot be asked: ${name} is an event, so say on(${JSON.stringify(name)})`);
    this.checkTimeout(timeoutS);
    if (onFailure !== undefined && onFailure !== "open" && onFailure !== "closed") {
      throw this.wrong(
        `cannot have onFailure ${JSON.stringify(onFailure)}: it takes "open" and "closed"`,
      );
    }
    if (onFailure === "closed" && !entry.decisions.includes("deny"))
      throw this.wrong(`cannot have onFailure "closed": ${name} cannot be denied`);
    if (replaces && entry.replace.length + entry.substitute.length === 0)
      throw this.wrong(`cannot have replaces: nothing of ${name} can be replaced`);
    if (attempts && !entry.attempts)
      throw this.wrong(`cannot have attempts: ${name} is asked once`);
    for (const field of include ?? []) {
      const known = entry.heavy.length
        ? `the heavy fields ${entry.heavy.join(", ")}`
        : "no heavy fields";
      if (!entry.heavy.includes(field))
        throw this.wrong(`cannot include ${JSON.stringify(field)}: ${name} has ${known}`);
    }
    for (const [field, globs] of Object.entries(match ?? {})) {
      if (entry.unmatchable.includes(field))
        throw this.wrong(
          `cannot match ${JSON.stringify(field)}: it is free text, an id that is new each time, or too slow inside an interrupt; look at it in the handler`,
        );
      const strings = Object.keys(entry.strings);
      if (!strings.includes(field))
        throw this.wrong(
          `cannot match ${JSON.stringify(field)}: ${name} has no such string field${hint(field, strings)}`,
        );
      const patterns = [globs].flat();
      if (!patterns.length || !patterns.every((glob) => typeof glob === "string"))
        throw this.wrong(`cannot match ${field}: it takes a pattern, or a list of them`);
      for (const glob of patterns) {
        const why = whyNever(name, field, glob);
        if (why) throw this.wrong(`cannot match ${field} ${JSON.stringify(glob)}, which ${why}`);
      }
    }
  }
}

/**
 * A function as a tool: `(args, ctx)`. It returns a text, a value that the model reads as JSON, a
 * ToolResult, or nothing.
 */
export class Tool extends Handler {
  constructor(name, options, run) {
    super(`tool(${JSON.stringify(name)})`, run);
    this.name = name;
    if (!fitsName("tool", name))
      throw this.wrong(`is no name for a tool: names are ${NAME_PATTERNS.tool}`);
    this.checkOptions(options, TOOL_OPTIONS);
    this.checkTimeout(options.timeoutS);
    if (options.schema !== undefined && (options.schema?.type ?? "object") !== "object")
      throw this.wrong("needs a schema that describes an object");
    this.spec = {
      name,
      description: options.description,
      input_schema: options.schema,
      timeout_s: options.timeoutS,
    };
  }
}

/** A function as a slash command: `(text, ctx)`. It returns the text for the user. */
export class Command extends Handler {
  constructor(name, options, run) {
    super(`command(${JSON.stringify(name)})`, run);
    this.name = name;
    if (!fitsName("command", name))
      throw this.wrong(`is no name for a command: names are ${NAME_PATTERNS.command}`);
    if (RESERVED_COMMANDS.includes(name))
      throw this.wrong(`cannot be: /${name} is the agent's own`);
    this.checkOptions(options, COMMAND_OPTIONS);
    this.spec = { name, description: options.description };
  }
}

/** True if the protocol allows the name for a plugin, a tool or a command. */
export function fitsName(what, name) {
  return typeof name === "string" && new RegExp(`^${NAME_PATTERNS[what]}$`).test(name);
}
