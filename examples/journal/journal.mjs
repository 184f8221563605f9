#!/usr/bin/env node
// @ts-check
/** Writes what agents have used into a database, and shows it by /usage and as a page. */

import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Plugin } from "sliphook-sdk";

import { costOf } from "./prices.mjs";
import { page } from "./report.mjs";
import { Store } from "./store.mjs";
import { usage } from "./usage.mjs";

const DEFAULT_DAYS = 7;
const MOST_DAYS = 3650;
const WRONG_DAYS = `Give a number of days, from 1 to ${MOST_DAYS}.`;
const DAY_MS = 24 * 3600 * 1000;

const plugin = new Plugin("journal", {
  version: "1.0.0",
  description: "Keeps what agents have used, in a database.",
  uses: ["notify"],
  configSchema: {
    type: "object",
    properties: {
      prices: {
        type: "object",
        description: "by model, or the beginning of its name and *: what a million tokens cost",
        additionalProperties: {
          type: "object",
          properties: {
            input: { type: "number", minimum: 0 },
            cached: { type: "number", minimum: 0 },
            output: { type: "number", minimum: 0 },
          },
          required: ["input", "output"],
        },
      },
    },
    additionalProperties: false,
  },
  readConfig: ({ prices = {} }) => prices,
});

/** @type {Store} */
let store;

plugin.onStart((ctx) => {
  store = new Store(join(ctx.dataDir, "journal.db"), (level, message) => {
    ctx.log(level, message);
    if (level === "warning") plugin.host.notify(level, message).catch(() => {});
  });
});

plugin.onShutdown(() => store.close());

plugin.on("session_start", (session) => store.write(["session", session]));

plugin.on("session_end", (end) =>
  store.write(["session", end], ["session_end", { ...end, ...end.usage }]),
);

plugin.on("turn_start", (turn) => store.write(["session", turn], ["turn", turn]));

plugin.on("turn_end", (turn) => store.write(["session", turn], ["turn", turn], ["turn_end", turn]));

plugin.on("post_llm_call", (call, ctx) => {
  const cost = call.substituted_by ? 0 : costOf(ctx.config, call.model, call.usage);
  store.write(["session", call], ["model_call", { ...call, ...call.usage, cost }]);
});

plugin.on("llm_call_failed", (call) =>
  store.write(["session", call], ["model_call", { ...call, failed: call.kind }]),
);

plugin.on("post_tool_call", (call) => store.write(["session", call], ["tool_call", call]));

plugin.command(
  "usage",
  { description: "Show what was used: /usage, /usage 30 (days)." },
  async (text) => {
    const days = daysIn(text);
    await setImmediate(); // a command does not wait for the events before it: now they are written
    return days ? usage(store.read(since(days)), days) : WRONG_DAYS;
  },
);

plugin.command(
  "usage-report",
  { description: "Write a page about what was used." },
  async (text, ctx) => {
    const days = daysIn(text);
    if (!days) return WRONG_DAYS;
    await setImmediate();
    const path = join(ctx.dataDir, "usage.html");
    // whole or not at all: another process may write it, too, and somebody reads it
    const mine = `${path}.${process.pid}`;
    await writeFile(mine, page(store.read(since(days)), days, new Date()), { mode: 0o600 });
    await rename(mine, path);
    return `Open ${path} in a browser.`;
  },
);

/** How many days a command is about; 0 if that is no number of days. @param {string} text */
function daysIn(text) {
  if (!text.trim()) return DEFAULT_DAYS;
  const days = Number(text);
  return Number.isInteger(days) && days >= 1 && days <= MOST_DAYS ? days : 0;
}

/** When those days have begun: at midnight here, today is one of them. @param {number} days */
function since(days) {
  const midnight = new Date(Date.now() - (days - 1) * DAY_MS);
  midnight.setHours(0, 0, 0, 0);
  return midnight.toISOString();
}

plugin.run();
