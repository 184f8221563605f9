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

import { JumpingClock } from "./clock.js";
import { HostRefused, NotConnected } from "./errors.js";
import { hint } from "./nearest.js";
import { Call } from "./peer.js";
import { whyNoAnswer } from "./person.js";
import { Plugin } from "./plugin.js";
import { CATALOGUE, ErrorCode, GRANTS, LIMITS, USES } from "./protocol.js";
import { SAMPLES } from "./samples.js";
import { Service } from "./service.js";
import { testing } from "./started.js";

testing.on = true;

const RESULTS = {
  "host/inject": { queued: true },
  "host/interrupt": { interrupted: true },
  "host/submit": { message_id: "m-1", status: "started" },
  "host/answer": { taken: true },
};

let loaded = 0;

/**
 * The plugin would have answered with an error. The message is what the host would have read; the
 * handler's exception is the cause.
 */
export class PluginError extends Error {
  name = "PluginError";
}

/** The call was cancelled, as the test has asked; what the handler returned is dropped. */
export class CallCancelled extends Error {
  name = "CallCancelled";
}

/**
 * Play the host to a plugin: the object, or the URL of its file. The file is loaded anew, and its
 * `plugin.run()` does nothing.
 */
export async function harness(plugin, options = {}) {
  const { config = {}, dataDir = ".", granted = USES, cwd, person, jumps = false } = options;
  const played = new Harness(
    plugin instanceof Plugin ? plugin : await load(plugin),
    granted,
    cwd,
    person,
    jumps,
  );
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
  #person;
  #misfit;
  #seq = 0;
  #closed = false;
  #common;
  #clock;
  #report;
  #settled = new Map(); // by call: the functions that settle its promise
  sent = [];
  logs = [];
  progress = [];

  constructor(plugin, granted, cwd, person, jumps) {
    this.#clock = jumps ? new JumpingClock() : undefined;
    this.#person = person;
    this.plugin = plugin;
    this.#common = cwd === undefined ? {} : { cwd };
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
  async fire(name, fields = {}, ends = {}) {
    const params = this.#params(name, fields, ends);
    const handlers = this.plugin.hooks.filter((handler) => handler.name === name && handler.asked);
    if (!handlers.length)
      throw new Error(`${this.plugin.name} has no handler for the hook ${name}`);
    if (!handlers.some((handler) => handler.fits(params))) return null;
    const answer = await this.#ask(`hook/${name}`, params, ends);
    const grants = this.plugin.uses.includes("route") && this.#granted.includes("route");
    if (answer?.replace?.route !== undefined && !grants)
      throw new PluginError(`replace({ route }) needs uses: ["route"], and the user's grant`);
    return answer;
  }

  /** Tell the plugin of an event, or of a hook as the host does after an interrupt. */
  async tell(name, fields = {}) {
    const { timeout_s: none, ...params } = this.#params(name, fields);
    if (!this.manifest.subscriptions.some((subscription) => subscription.event === name)) {
      throw new Error(`${this.plugin.name} has no handler for ${name}`);
    }
    const work = async () => {
      this.#service.take(new Call(undefined, `event/${name}`, params));
      await this.#service.idle();
    };
    await this.#untilDone(async () => await this.#timed(work));
  }

  /** End the plugin, as the host does: `onShutdown` is called. Throws PluginError if it threw. */
  async close() {
    await this.#untilDone(async () => {
      await this.#service.life.cleanUp(LIMITS.SHUTDOWN_TIMEOUT_S * 1000);
      this.#service.close();
    });
  }

  /** Call a tool as a model does. If it throws, `is_error` is true and the content says why. */
  async callTool(name, args = {}, { sessionId = "s-1", ...ends } = {}) {
    const fields = { name, arguments: args, session_id: sessionId };
    return await this.#ask("tool/call", this.#params("tool/call", fields, ends), ends);
  }

  /** Run a slash command; the result is the text for the user. */
  async runCommand(name, text = "", ends = {}) {
    const params = this.#params("command/run", { name, arguments: text }, ends);
    return (await this.#ask("command/run", params, ends)).text;
  }

  #params(name, fields, { timeoutS } = {}) {
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
    const within = timeoutS === undefined ? {} : { timeout_s: timeoutS };
    const params = { ...sample, seq: this.#seq, ...this.#common, ...within, ...fields };
    return JSON.parse(JSON.stringify(params));
  }

  async #ask(method, params, ends = {}) {
    return await this.#timed(async () => await this.#settle(method, params, ends));
  }

  /** Do the work on the clock that jumps, if there is one. */
  #timed(work) {
    return this.#clock === undefined ? work() : this.#clock.run(work);
  }

  async #settle(method, params, { cancelAfterMs, cancelWhen, timeoutS }) {
    this.#seq += 1;
    const call = new Call(this.#seq, method, params);
    let late = "";
    const cancel = () => call.cancel();
    const alarms = [
      cancelAfterMs !== undefined && setTimeout(cancel, cancelAfterMs),
      timeoutS !== undefined &&
        setTimeout(() => {
          late = `, since its ${timeoutS} s were over`;
          cancel();
        }, timeoutS * 1000),
    ].filter(Boolean);
    this.#report = (progress) => cancelWhen?.(progress) && cancel();
    try {
      const answer = await new Promise((resolve, reject) => {
        this.#settled.set(call, { resolve, reject });
        this.#service.take(call);
      });
      if (call.cancelled) throw new CallCancelled(`${method} was cancelled, and answered all the same`);
      return answer;
    } catch (error) {
      if (!call.cancelled || error instanceof CallCancelled) throw error;
      throw new CallCancelled(`${method} was cancelled${late}`);
    } finally {
      alarms.forEach((alarm) => clearTimeout(alarm));
      this.#report = undefined;
      this.#throwMisfit();
    }
  }

  /** Run `work`, and throw what a handler that has no reply has thrown meanwhile. */
  async #untilDone(work) {
    const before = this.logs.length;
    await work();
    const failed = this.logs
      .slice(before)
      .find(({ level, fields }) => level === "error" && fields?.where !== undefined);
    if (failed !== undefined) throw new PluginError(failed.message);
  }

  /** Throw what the test's `person` has answered that is no answer. */
  #throwMisfit() {
    const misfit = this.#misfit;
    this.#misfit = undefined;
    if (misfit !== undefined) throw misfit;
  }

  /** What comes of a question of the plugin's: what the test's `person` says. */
  async #answer(question) {
    if (this.#person === undefined) return { outcome: "nobody", answer: null };
    const answer = (await this.#person(question)) ?? null;
    if (answer === null) return { outcome: "declined", answer };
    const why = whyNoAnswer(answer, question.schema);
    if (why === undefined) return { outcome: "answered", answer };
    this.#misfit = new TypeError(`person: the answer ${JSON.stringify(answer)} ${why}`);
    throw this.#misfit;
  }

  /** The host for a handler's `ctx`: keeps each message, and grants what `granted` holds. */
  #peer() {
    return {
      answer: (call, result) => this.#settled.get(call).resolve(result),
      refuse: (call, error) =>
        this.#settled
          .get(call)
          .reject(new PluginError(error.message, { cause: error.cause ?? error })),
      notify: (method, params) => {
        this.sent.push({ method, params });
        if (method !== "$/progress") return;
        this.progress.push(params);
        this.#report?.(params);
      },
      log: (level, message, fields) => this.logs.push({ level, message, fields }),
      close: () => {
        this.#closed = true;
      },
      ask: async (method, params) => {
        if (this.#closed) throw new NotConnected(`${method}: the harness is closed`);
        this.sent.push({ method, params });
        if (!this.#granted.includes(GRANTS[method]))
          throw new HostRefused(ErrorCode.NOT_GRANTED, `${method} is not granted`);
        if (method === "host/ask") return await this.#answer(params);
        return RESULTS[method] ?? {};
      },
    };
  }
}
