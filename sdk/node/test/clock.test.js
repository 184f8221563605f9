// A slow tool under test: cancelled in the middle, late, with progress, on a clock that jumps.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { CallCancelled, harness } from "../src/testing.js";
import { continueWith, Plugin } from "../src/index.js";

const HOUR_MS = 3_600_000;

function slow() {
  const plugin = new Plugin("slow");
  const steps = [];
  plugin.tool("deploy", { timeoutS: 600 }, async ({ hours }, ctx) => {
    for (let hour = 0; hour < hours; hour += 1) {
      ctx.progress(`hour ${hour}`, hour / hours);
      await sleep(HOUR_MS, undefined, { signal: ctx.signal });
      steps.push(`hour ${hour}`);
    }
    return "deployed";
  });
  plugin.tool("stubborn", async () => {
    await new Promise((done) => setTimeout(done, HOUR_MS));
    return "done all the same";
  });
  plugin.tool("left", async (args, ctx) => {
    const before = ctx.deadline - performance.now();
    await sleep(5000);
    return [before, ctx.deadline - performance.now()].join(" ");
  });
  plugin.tool("command", async (args, ctx) => {
    const ran = await ctx.run([process.execPath, "-e", "console.log('ran')"], { timeoutS: 100 });
    return ran.stdout.trim();
  });
  plugin.tool("forever", (args, ctx) => new Promise((_, reject) => {
    ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
  }));
  plugin.tool("ticks", async (args, ctx) => {
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), HOUR_MS);
    await sleep(24.5 * HOUR_MS);
    clearInterval(timer);
    return `${ticks}`;
  });
  plugin.hook("stop", { timeoutS: 600 }, async () => {
    await sleep(HOUR_MS);
    return continueWith("go on");
  });
  plugin.command("wait", async (ms) => {
    await sleep(Number(ms));
    return `${ms}`;
  });
  return { plugin, steps };
}

test("hours pass at once", async () => {
  const played = await harness(slow().plugin, { jumps: true });
  const begun = performance.now();
  assert.equal((await played.callTool("deploy", { hours: 3 })).content, "deployed");
  assert.equal((await played.callTool("stubborn")).content, "done all the same");
  assert.equal((await played.callTool("ticks")).content, "24");
  assert.equal(await played.runCommand("wait", "86400000"), "86400000");
  assert.deepEqual(await played.fire("stop"), continueWith("go on"));
  assert.deepEqual(
    played.progress.map(({ message, fraction }) => [message, fraction]),
    [["hour 0", 0], ["hour 1", 1 / 3], ["hour 2", 2 / 3]],
  );
  assert.ok(performance.now() - begun < 120_000);
});

test("a cancel in the middle", async () => {
  const { plugin, steps } = slow();
  const played = await harness(plugin, { jumps: true });
  await assert.rejects(
    played.callTool("deploy", { hours: 9 }, { cancelAfterMs: 1.5 * HOUR_MS }),
    new CallCancelled("tool/call was cancelled"),
  );
  assert.deepEqual(steps, ["hour 0"]);
  // at a step of the work rather than at a time
  await assert.rejects(
    played.callTool("deploy", { hours: 9 }, { cancelWhen: ({ message }) => message === "hour 2" }),
    CallCancelled,
  );
  assert.deepEqual(steps, ["hour 0", "hour 0", "hour 1"]);
});

test("the deadline", async () => {
  const played = await harness(slow().plugin, { jumps: true });
  // real time runs on beside the jumps, so only bounds are certain
  const left = (await played.callTool("left", {}, { timeoutS: 60 })).content;
  const [before, after] = left.split(" ").map(Number);
  assert.ok(before > 30_000 && before <= 60_000, left);
  assert.ok(before - after >= 5000 && before - after < 35_000, left);
  await assert.rejects(
    played.callTool("deploy", { hours: 9 }, { timeoutS: 5400 }),
    new CallCancelled("tool/call was cancelled, since its 5400 s were over"),
  );
  await assert.rejects(
    played.fire("stop", {}, { timeoutS: 60 }),
    new CallCancelled("hook/stop was cancelled, and answered all the same"),
  );
  await assert.rejects(played.callTool("forever", {}, { timeoutS: 60 }), CallCancelled);
});

test("a command takes its time", async () => {
  const played = await harness(slow().plugin, { jumps: true, cwd: process.cwd() });
  assert.equal((await played.callTool("command", {}, { timeoutS: 100 })).content, "ran");
});

test("the clock is only that of the call", async () => {
  const before = [globalThis.setTimeout, performance.now()];
  const played = await harness(slow().plugin, { jumps: true });
  await played.callTool("stubborn");
  assert.equal(globalThis.setTimeout, before[0]);
  assert.ok(performance.now() - before[1] < HOUR_MS);
});

test("without it time is real", async () => {
  const played = await harness(slow().plugin);
  await assert.rejects(played.callTool("deploy", { hours: 1 }, { cancelAfterMs: 5 }), CallCancelled);
  await assert.rejects(played.callTool("deploy", { hours: 1 }, { timeoutS: 0.05 }), /0\.05 s were over/);
});
