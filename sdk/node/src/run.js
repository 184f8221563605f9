// A plugin's process from its start to its end.

import fs from "node:fs";
import tty from "node:tty";
import { isMainThread } from "node:worker_threads";

import { describe } from "./errors.js";
import { FrameSplitter } from "./framing.js";
import { SHUT_LINGER_MS } from "./life.js";
import { Peer } from "./peer.js";
import { LIMITS } from "./protocol.js";
import { placeIn } from "./registration.js";
import { Service } from "./service.js";
import { testing } from "./started.js";
import { takeOver } from "./streams.js";

// how long running handlers may still take if the host has gone without `shutdown`
const LINGER_MS = 500;

/** Serve the host on standard input and output; explain the plugin if a person starts it. */
export function run(plugin) {
  if (testing.on) {
    testing.started.push(plugin);
    return;
  }
  if (process.argv.length > 2 || tty.isatty(0)) {
    process.stderr.write(explain(plugin, process.argv[1]));
    process.exitCode = 2;
    return;
  }
  if (isPartOfAPlugin()) return;
  const [incoming, write] = takeOver();
  const peer = new Peer(write);
  const service = new Service(plugin, peer);
  const splitter = new FrameSplitter();
  logForgotten(peer);
  let shutDown = false;
  let ending = false;

  const end = (lingerMs) => {
    if (ending) return;
    ending = true;
    service.close();
    const cleanUpMs = lingerMs || SHUT_LINGER_MS;
    const cleanedUp = service.life.cleanUp(cleanUpMs);
    const last = [
      ...(lingerMs === 0 ? [] : [within(lingerMs, service.idle())]),
      ...(cleanedUp === undefined ? [] : [within(cleanUpMs, cleanedUp)]),
    ];
    if (last.length === 0) process.exit(0);
    Promise.all(last).then(() => process.exit(0));
  };
  const gone = () => end(shutDown ? 0 : LINGER_MS);
  for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => end(LIMITS.SHUTDOWN_TIMEOUT_S * 1000));

  incoming.on("end", gone);
  incoming.on("error", gone);
  incoming.on("data", (data) => {
    let texts;
    try {
      texts = splitter.feed(data);
    } catch (error) {
      peer.log("error", `what the host wrote is no message: ${error.message}`);
      process.exit(1);
    }
    for (const text of texts) {
      if (ending) return;
      const call = peer.receive(text);
      if (call === undefined) continue;
      if (call.method === "exit") return gone();
      shutDown ||= call.method === "shutdown";
      service.take(call);
    }
  });
}

/** Resolves when the work is done, or the time is up. */
const within = (ms, work) => Promise.race([work, new Promise((done) => setTimeout(done, ms))]);

/**
 * True in a Worker and in a process that the plugin has started with `cluster` or `fork`: they may
 * import the plugin's file, and only the plugin's own process speaks to the host.
 */
function isPartOfAPlugin() {
  if (!isMainThread || process.send !== undefined) return true;
  const input = fs.fstatSync(0);
  // what children are given where the streams could be moved
  return input.isCharacterDevice() && input.rdev === fs.statSync("/dev/null").rdev;
}

/**
 * Log what is not caught, unless the author has a listener for it. A rejected promise ends nothing.
 * After an exception Node ends the process.
 */
function logForgotten(peer) {
  const log = (what, error) => {
    const where = placeIn(error?.stack);
    peer.log("error", `${where === "" ? "" : `${where}: `}${what}: ${describe(error)}`, {
      where,
      traceback: error?.stack,
    });
  };
  if (process.listenerCount("unhandledRejection") === 0)
    process.on("unhandledRejection", (error) =>
      log("a rejected promise that is not awaited", error),
    );
  if (process.listenerCount("uncaughtException") === 0)
    process.on("uncaughtExceptionMonitor", (error) => log("not caught", error));
}

/** The text for a person who starts the plugin by hand. */
export function explain(plugin, path) {
  const { name, version, description, disabled, tools } = plugin.manifest();
  const names = (asked) => [
    ...new Set(
      plugin.hooks.filter((handler) => handler.asked === asked).map((handler) => handler.name),
    ),
  ];
  const [asked, told] = [names(true), names(false)];
  const rows = [
    ["is asked", asked],
    ["is told", told],
    ["tools", tools.map((tool) => tool.name)],
    ["commands", [...plugin.commands.keys()].map((command) => `/${command}`)],
  ];
  const tries = [...asked, ...told]
    .slice(0, 1)
    .map((event) => `sliphook fire ${event} --plugin ${path}`);
  for (const tool of tools.slice(0, 1))
    tries.push(
      `sliphook call ${tool.name} --args '${JSON.stringify(sample(tool.input_schema ?? {}))}' --plugin ${path}`,
    );
  tries.push(`sliphook check ${path}`);
  return [
    `${name}${version ? ` ${version}` : ""} is a plugin for agents; Sliphook starts it and speaks to it.`,
    ...(description ? [description] : []),
    ...(disabled ? ["", `It is disabled: ${disabled}`] : []),
    "",
    ...rows
      .filter(([, values]) => values.length)
      .map(([title, values]) => `  ${title.padEnd(9)} ${values.join(", ")}`),
    "",
    "Try it:",
    ...tries.map((command) => `  ${command}`),
    "",
    "Install it:",
    `  sliphook install ${path}`,
    "",
  ].join("\n");
}

function sample({ properties = {}, required = [] }) {
  const samples = { string: "...", integer: 1, number: 1, boolean: true, array: [], object: {} };
  return Object.fromEntries(
    required.map((name) => [name, samples[properties[name]?.type] ?? null]),
  );
}
