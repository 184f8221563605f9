// What the author forgot is in the log, with its file and line; a rejection ends no plugin.

import assert from "node:assert/strict";
import { test } from "node:test";

import { payload, toolCall, withChild } from "./child.js";

const tool = (name) => payload({ call_id: "c-1", name, timeout_s: 30, arguments: {} });

test("a forgotten await is logged, and the plugin lives", () =>
  withChild(
    `async function upload() { throw new Error("no network"); }
     plugin.on("turn_start", () => { upload(); });
     plugin.tool("odd", () => { Promise.reject("only a text"); });
     plugin.tool("bare", () => { Promise.reject(Object.create(null)); });`,
    {},
    async (child) => {
      await child.initialize();
      child.notify("event/turn_start", payload({ index: 1 }));
      const { level, message, fields } = (await child.said("host/log")).params;
      assert.equal(level, "error");
      assert.match(
        message,
        /torture\.mjs:3: a rejected promise that is not awaited: Error: no network$/,
      );
      assert.match(fields.where, /torture\.mjs:3$/);
      assert.match(fields.traceback, /^Error: no network\n +at upload/);
      await child.ask("tool/call", tool("odd"));
      assert.equal(
        (await child.said("host/log")).params.message,
        'a rejected promise that is not awaited: threw "only a text"',
      );
      await child.ask("tool/call", tool("bare"));
      assert.equal(
        (await child.said("host/log")).params.message,
        "a rejected promise that is not awaited: threw a value of type object",
      );
      assert.deepEqual(await child.ask("ping"), {});
    },
  ));

test("an exception that is not caught is logged, and ends the process", () =>
  withChild(
    `plugin.tool("later", () => { setTimeout(() => { throw new TypeError("no such thing"); }); });`,
    {},
    async (child) => {
      await child.initialize();
      child.request("tool/call", tool("later"));
      const { message } = (await child.said("host/log")).params;
      assert.match(message, /torture\.mjs:3: not caught: TypeError: no such thing$/);
      assert.equal(await child.ended(), 1);
    },
  ));

test("the author's own listeners are left alone", () =>
  withChild(
    `process.on("unhandledRejection", () => console.error("mine"));
     plugin.tool("odd", () => { Promise.reject(1); });`,
    {},
    async (child) => {
      await child.initialize();
      await child.ask("tool/call", tool("odd"));
      await child.until(() => child.stderr.includes("mine"), "no listener");
      await child.ask("ping");
      assert.deepEqual(child.unasked, []);
    },
  ));

for (const [what, method, params] of [
  ['tool("late")', "tool/call", tool("late")],
  ['hook("pre_tool_call")', "hook/pre_tool_call", toolCall()],
]) {
  test(`${what}: what goes on after its cancel is logged once`, () =>
    withChild(
      `const late = async (given, ctx) => {
         ctx.progress("begun");
         await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
         await new Promise((resolve) => setTimeout(resolve, 600));
       };
       plugin.tool("late", late);
       plugin.hook("pre_tool_call", late);`,
      {},
      async (child) => {
        await child.initialize();
        const id = child.request(method, params);
        await child.said("$/progress");
        child.notify("$/cancelRequest", { id });
        // the answer tells that it has ended, and that it was done all the same
        assert.ok("result" in (await child.reply(id)));
        const { level, message, fields } = (await child.said("host/log")).params;
        assert.equal(level, "warning");
        assert.ok(message.startsWith(`${what} went on for `), message);
        assert.ok(message.endsWith(" s after it was cancelled; look at ctx.signal"), message);
        assert.ok(fields.late_s >= 0.59);
        assert.match(fields.where, /torture\.mjs:\d+$/);
        assert.deepEqual(await child.ask("ping"), {});
        assert.deepEqual(child.unasked, []);
      },
    ));
}

test("while a tool goes on after its cancel, others are said to run", () =>
  withChild(
    `let release;
     const released = new Promise((resolve) => { release = resolve; });
     plugin.tool("deaf", async () => { await released; return "done"; });
     plugin.tool("release", () => release());`,
    {},
    async (child) => {
      await child.initialize();
      const [deaf, beside] = [child.request("tool/call", tool("deaf")), child.request("tool/call", tool("deaf"))];
      child.notify("$/cancelRequest", { id: deaf });
      assert.equal((await child.said("$/progress")).params.id, beside);
      assert.deepEqual(await child.ask("ping"), {});
      const later = child.request("tool/call", tool("release"));
      assert.equal((await child.said("$/progress")).params.id, later);
      for (const id of [deaf, beside]) assert.equal((await child.reply(id)).result.content, "done");
      await child.reply(later);
      // on a busy machine "deaf" goes on for so long that this is logged
      assert.deepEqual(child.unasked.filter(({ method }) => method !== "host/log"), []);
    },
  ));

for (const [what, start] of [
  ["a Worker", `new (await import("node:worker_threads")).Worker(new URL(import.meta.url))`],
  ["child_process.fork", `(await import("node:child_process")).fork(new URL(import.meta.url))`],
  ["cluster", `(await import("node:cluster")).default.fork()`],
]) {
  for (const pipes of [false, true]) {
    test(`${what} that imports the plugin's file says nothing, over ${pipes ? "pipes" : "sockets"}`, () =>
      withChild(
        `import { isMainThread } from "node:worker_threads";
         const main = isMainThread && process.send === undefined;
         plugin.tool("work", async () => {
           const part = ${start};
           return await new Promise((resolve) => part.on("exit", resolve));
         });
         plugin.hook("pre_tool_call", () => deny("by the plugin"));
         if (!main) setTimeout(() => process.exit(7), 200);`,
        { pipes },
        async (child) => {
          await child.initialize();
          const work = child.request("tool/call", tool("work"));
          for (let count = 0; count < 20; count += 1) {
            const answer = await child.ask("hook/pre_tool_call", toolCall());
            assert.equal(answer.reason, "by the plugin");
          }
          assert.equal((await child.reply(work)).result.content, "7");
        },
      ));
  }
}
