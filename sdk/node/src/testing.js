// Test a plugin without a process: call its handlers as the host would, and see their answers.
//
//     import { harness } from "sliphook-sdk/testing";
//
//     test("trees stay", async () => {
//       const guard = await harness(new URL("guard.mjs", import.meta.url));
//       const answer = await guard.fire("pre_tool_call", {
//         tool_name: "shell",
//         arguments: { command: "rm -rf /" },
//       });
//       assert.equal(answer.decision, "deny");
//     });

import { HostRefused } from "./errors.js";
import { hint } from "./nearest.js";
import { Call } from "./peer.js";
import { Plugin } from "./plugin.js";
import { CATALOGUE, ErrorCode, USES } from "./protocol.js";
import { SAMPLES } from "./samples.js";
import { Service } from "./service.js";
import { testing } from "./started.js";

testing.on = true;

const RESULTS = { "host/inject": { queued: true }, "host/interrupt": { interrupted: true } };
const GRANTS = {
  "host/notify": "notify",
  "host/tools": "tools",
  "host/inject": "inject",
  "host/interrupt": "interrupt",
};

let loaded = 0;

/**
 * The plugin would have answered with an error. The message is what the host would have read; the
 * handler's exception is the cause.
 */
export class PluginError extends Error {
  name = "PluginError";
}

/**
 * Play the host to a plugin: the object, or the URL of its file. The file is loaded anew, and its
 * `plugin.run()` does nothing.
 */
export async function harness(plugin, { config = {}, dataDir = ".", granted = USES } = {}) {
  const played = new Harness(plugin instanceof Plugin ? plugin : await load(plugin), granted);
  played.manifest = await played.start(config, dataDir);
  return played;
}

async function load(url) {
  const before = testing.started.length;
  loaded += 1;
  await import(`${new URL(url).href}?harness=${loaded}`);
  const started = testing.started.splice(before);
  if (started.length !== 1)
    throw new Error(`${url} calls run() of ${started.length} plugins, not of one`);
  return started[0];
}

class Harness {
  #service;
  #granted;
  #seq = 0;
  #settled = new Map(); // by call: the functions that settle its promise
  sent = [];
  logs = [];

  constructor(plugin, granted) {
    this.plugin = plugin;
    this.#granted = granted;
    this.#service = new Service(plugin, this.#peer());
  }

  async start(config, dataDir) {
    return await this.#ask("initialize", {
      protocol_versions: [1],
      plugin: { name: this.plugin.name, data_dir: dataDir, config },
    });
  }

  /**
   * Ask the plugin, as the host does when it fires a hook. Null if the plugin abstains, or if no
   * `match` of it fits.
   */
  async fire(name, fields = {}) {
    const params = this.#params(name, fields);
    const handlers = this.plugin.hooks.filter((handler) => handler.name === name && handler.asked);
    if (!handlers.length)
      throw new Error(`${this.plugin.name} has no handler for the hook ${name}`);
    return handlers.some((handler) => handler.fits(params))
      ? await this.#ask(`hook/${name}`, params)
      : null;
  }

  /** Tell the plugin of an event, or of a hook as the host does after an interrupt. */
  async tell(name, fields = {}) {
    const { timeout_s: none, ...params } = this.#params(name, fields);
    if (!this.manifest.subscriptions.some((subscription) => subscription.event === name)) {
      throw new Error(`${this.plugin.name} has no handler for ${name}`);
    }
    const before = this.logs.length;
    this.#service.take(new Call(undefined, `event/${name}`, params));
    await this.#service.idle();
    const failed = this.logs
      .slice(before)
      .find(({ level, fields: beside }) => level === "error" && beside?.where !== undefined);
    if (failed !== undefined) throw new PluginError(failed.message);
  }

  /** Call a tool as a model does. If it throws, `is_error` is true and the content says why. */
  async callTool(name, args = {}, { sessionId = "s-1" } = {}) {
    return await this.#ask(
      "tool/call",
      this.#params("tool/call", { name, arguments: args, session_id: sessionId }),
    );
  }

  /** Run a slash command; the result is the text for the user. */
  async runCommand(name, text = "") {
    return (await this.#ask("command/run", this.#params("command/run", { name, arguments: text })))
      .text;
  }

  #params(name, fields) {
    const sample = SAMPLES[name];
    if (sample === undefined)
      throw new TypeError(
        `there is no hook or event ${JSON.stringify(name)}${hint(name, Object.keys(CATALOGUE))}`,
      );
    for (const field of Object.keys(fields)) {
      if (!(field in sample))
        throw new TypeError(
          `${name} has no field ${JSON.stringify(field)}${hint(field, Object.keys(sample))}`,
        );
    }
    this.#seq += 1;
    return JSON.parse(JSON.stringify({ ...sample, seq: this.#seq, ...fields }));
  }

  #ask(method, params) {
    this.#seq += 1;
    const call = new Call(this.#seq, method, params);
    return new Promise((resolve, reject) => {
      this.#settled.set(call, { resolve, reject });
      this.#service.take(call);
    });
  }

  /** The host for a handler's `ctx`: keeps each message, and grants what `granted` holds. */
  #peer() {
    return {
      answer: (call, result) => this.#settled.get(call).resolve(result),
      refuse: (call, error) =>
        this.#settled
          .get(call)
          .reject(new PluginError(error.message, { cause: error.cause ?? error })),
      notify: (method, params) => this.sent.push({ method, params }),
      log: (level, message, fields) => this.logs.push({ level, message, fields }),
      ask: async (method, params) => {
        this.sent.push({ method, params });
        if (!this.#granted.includes(GRANTS[method]))
          throw new HostRefused(ErrorCode.NOT_GRANTED, `${method} is not granted`);
        return RESULTS[method] ?? {};
      },
    };
  }
}
