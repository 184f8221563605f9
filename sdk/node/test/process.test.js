// Plugins as processes of their own, driven over bare pipes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { payload, toolCall, withChild } from "./child.js";

const GUARD = `plugin.hook("pre_tool_call", (call) => call.arguments.command === "rm" ? deny("no") : undefined);`;

test("a whole life", () =>
  withChild(GUARD, {}, async (child) => {
    const manifest = await child.initialize();
    assert.deepEqual([manifest.protocol_version, manifest.name], [1, "torture"]);
    assert.deepEqual(manifest.subscriptions, [{ event: "pre_tool_call" }]);
    assert.equal(await child.ask("hook/pre_tool_call", toolCall()), null);
    assert.deepEqual(
      await child.ask("hook/pre_tool_call", toolCall({ arguments: { command: "rm" } })),
      { decision: "deny", reason: "no" },
    );
    assert.deepEqual(await child.ask("ping"), {});
    await child.ask("shutdown");
    child.notify("exit");
    assert.equal(await child.ended(), 0);
  }));

test("an unknown request is refused, an unknown notification ignored", () =>
  withChild(GUARD, {}, async (child) => {
    await child.initialize();
    child.notify("host/of_tomorrow", { a: 1 });
    assert.equal((await child.reply(child.request("hook/pre_tool_cal", {}))).error.code, -32601);
    assert.match(
      (await child.reply(child.request("hook/pre_tool_cal", {}))).error.message,
      /did you mean "hook\/pre_tool_call"\?/,
    );
    assert.equal((await child.reply(child.request("hook/stop", payload({})))).error.code, -32601);
    assert.equal(child.replies.size, 4);
  }));

test("no common version", () =>
  withChild(GUARD, {}, async (child) => {
    const { error } = await child.reply(
      child.request("initialize", {
        protocol_versions: [7],
        plugin: { data_dir: "/", config: {} },
      }),
    );
    assert.equal(error.code, -32602);
    assert.match(error.message, /speaks 1, the host 7/);
  }));

test("fed one byte at a time, with text of many bytes", () =>
  withChild(`plugin.command("echo", (text) => text);`, {}, async (child) => {
    await child.initialize();
    const text = 'a\u2028b\u0085\0 \u{1F600} {"method":"exit"}\n';
    const bytes = Buffer.from(
      child.frame({
        id: 99,
        method: "command/run",
        params: payload({ name: "echo", timeout_s: 5, arguments: text }),
      }),
    );
    for (const byte of bytes) child.process.stdin.write(Buffer.of(byte));
    assert.deepEqual((await child.reply(99)).result, { text });
  }));

for (const [how, answered] of [
  ['return "all the same"', { result: { content: "all the same", is_error: false, data: null } }],
  ['throw new Error("aborted")', { error: { code: -32800, message: "request cancelled" } }],
])
  test(`a cancel aborts the signal, and is answered when the handler ends: ${how}`, () =>
  withChild(
    `plugin.tool("slow", async (args, ctx) => {
       ctx.progress("waiting", 0.5);
       await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
       ctx.progress("never said");
       ctx.log("info", "aborted", { reason: ctx.signal.aborted });
       ${how};
     });`,
    {},
    async (child) => {
      await child.initialize();
      const id = child.request(
        "tool/call",
        payload({ call_id: "c-1", name: "slow", timeout_s: 30, arguments: {} }),
      );
      assert.deepEqual((await child.said("$/progress")).params, {
        id,
        message: "waiting",
        fraction: 0.5,
      });
      assert.deepEqual(await child.ask("ping"), {});
      child.notify("$/cancelRequest", { id });
      const { result, error } = await child.reply(id);
      assert.deepEqual(error === undefined ? { result } : { error }, answered);
      assert.deepEqual((await child.said("host/log")).params, {
        level: "info",
        message: "aborted",
        fields: { reason: true },
      });
      child.notify("$/cancelRequest", { id });
      assert.deepEqual(await child.ask("ping"), {});
      assert.deepEqual(child.unasked, []);
    },
  ));

test("events come one after the other, and shutdown waits for them", () =>
  withChild(
    `plugin.on("turn_start", async (turn, ctx) => { await new Promise((r) => setTimeout(r, 30)); ctx.log("info", "start " + turn.index); });
     plugin.on("turn_end", (turn, ctx) => ctx.log("info", "end"));`,
    {},
    async (child) => {
      await child.initialize();
      child.notify("event/turn_start", payload({ index: 1 }));
      child.notify("event/turn_start", payload({ index: 2 }));
      child.notify("event/turn_end", payload({}));
      await child.ask("shutdown");
      assert.deepEqual(
        child.unasked.map((message) => message.params.message),
        ["start 1", "start 2", "end"],
      );
    },
  ));

test("a subscriber to a hook is told of it too, once", () =>
  withChild(
    `plugin.hook("post_tool_call", { match: { tool_name: "sh?l*" } }, (call, ctx) => { ctx.log("info", "asked or told", { deadline: ctx.deadline === null }); });
     plugin.on("post_tool_call", (call, ctx) => ctx.log("info", "only told"));`,
    {},
    async (child) => {
      await child.initialize();
      child.notify("event/post_tool_call", toolCall({ timeout_s: undefined }));
      child.notify("event/post_tool_call", toolCall({ tool_name: "read" }));
      await child.ask("shutdown");
      assert.deepEqual(
        child.unasked.map((message) => message.params.message),
        ["asked or told", "only told"],
      );
      assert.deepEqual(child.unasked[0].params.fields, { deadline: true });
    },
  ));

const LINES = [
  "a print",
  "a write",
  "by its number",
  "a child",
  "by execFileSync",
  "by spawnSync",
  "by spawn",
  "a fork",
];

for (const [streams, pipes] of [
  ["pipes", true],
  ["sockets", false],
]) {
  test(`what the author prints is no message, over ${streams}`, () =>
    withChild(
      `import { execFileSync, execSync, fork, spawn, spawnSync } from "node:child_process";
       import fs from "node:fs";
       fs.writeFileSync("forked.mjs", 'console.log("a fork")');
       plugin.hook("pre_tool_call", async () => {
         console.log("a print");
         process.stdout.write("a write\\n");
         fs.writeSync(process.stdout.fd, "by its number\\n"); // as some loggers do
         execSync("cat; echo a child", { stdio: "inherit" });
         execFileSync("echo", ["by execFileSync"], { stdio: ["inherit", process.stdout, "pipe"] });
         spawnSync("echo", ["by spawnSync"], { stdio: [0, 1, 2] });
         if (execSync("echo piped").toString() !== "piped\\n") return deny("no output");
         if (spawnSync("echo", ["piped"]).stdout.toString() !== "piped\\n") return deny("none");
         const children = [
           spawn("sh", ["-c", "cat; echo by spawn"], { stdio: "inherit" }),
           fork("forked.mjs"),
         ];
         await Promise.all(children.map((one) => new Promise((end) => one.on("exit", end))));
         return allow();
       });`,
      { pipes },
      async (child) => {
        await child.initialize();
        assert.deepEqual(await child.ask("hook/pre_tool_call", toolCall()), { decision: "allow" });
        child.process.stdin.end();
        await child.ended();
        assert.equal(child.stray, "");
        await child.until(
          () => LINES.every((line) => child.stderr.includes(line)),
          "the lines",
        );
      },
    ));
}

test("an exception is logged with its stack and answered with its message", () =>
  withChild(
    `plugin.hook("pre_tool_call", () => { throw new TypeError("broken"); });
     plugin.tool("bad", () => { throw new ToolError("no station there"); });
     plugin.tool("worse", async () => { null.x; });`,
    {},
    async (child) => {
      await child.initialize();
      const { error } = await child.reply(child.request("hook/pre_tool_call", toolCall()));
      assert.deepEqual(error, {
        code: -32603,
        message: 'hook("pre_tool_call"): TypeError: broken',
      });
      const log = (await child.said("host/log")).params;
      assert.equal(log.level, "error");
      assert.match(log.fields.where, /torture\.mjs:3$/);
      assert.match(log.fields.traceback, /TypeError: broken\n\s+at .*torture\.mjs:3/);
      const call = (name) =>
        child.ask("tool/call", payload({ call_id: "c-1", name, timeout_s: 5, arguments: {} }));
      assert.deepEqual(await call("bad"), {
        content: "no station there",
        is_error: true,
        data: null,
      });
      assert.match((await call("worse")).content, /^TypeError: Cannot read properties of null/);
      assert.equal(
        (
          await child.reply(
            child.request("tool/call", payload({ name: "none", timeout_s: 5, arguments: {} })),
          )
        ).error.code,
        -32602,
      );
    },
  ));

test("an answer that is not allowed there is an error that names what is", () =>
  withChild(
    `plugin.hook("stop", () => deny("no"));
     plugin.hook("pre_tool_call", () => ({ decison: "deny" }));
     plugin.hook("user_prompt_submit", () => replace({ text: "x" }));`,
    {},
    async (child) => {
      await child.initialize();
      const why = async (name) =>
        (await child.reply(child.request(`hook/${name}`, toolCall()))).error.message;
      assert.match(await why("stop"), /stop takes no deny\(\); stop takes continueWith\(\)/);
      assert.match(await why("pre_tool_call"), /no field "decison"; did you mean "decision"\?/);
      assert.match(await why("user_prompt_submit"), /replace\(\) needs \{ replaces: true \}/);
    },
  ));

test("tools: values, and tools that change at run time", () =>
  withChild(
    `plugin.tool("value", () => ({ celsius: 11 }));
     plugin.tool("nothing", () => {});
     plugin.command("more", async (text, ctx) => {
       await ctx.setTools([new Tool("late", { description: "Late." }, (args) => args.n + 1)], { sessionId: ctx.sessionId });
       return "done";
     });`,
    { options: `{ uses: ["tools"] }` },
    async (child) => {
      const manifest = await child.initialize();
      assert.deepEqual(manifest.subscriptions, [{ event: "session_end" }]);
      const call = (name, args = {}) =>
        child.ask("tool/call", payload({ call_id: "c-1", name, timeout_s: 5, arguments: args }));
      assert.deepEqual(await call("value"), {
        content: '{"celsius":11}',
        is_error: false,
        data: { celsius: 11 },
      });
      assert.deepEqual(await call("nothing"), { content: "", is_error: false, data: null });
      const ran = child.request(
        "command/run",
        payload({ name: "more", timeout_s: 5, arguments: "" }),
      );
      const asked = await child.said("host/tools");
      assert.deepEqual(asked.params, {
        session_id: "s-1",
        tools: [{ name: "late", description: "Late." }],
      });
      child.process.stdin.write(child.frame({ id: asked.id, result: {} }));
      assert.deepEqual((await child.reply(ran)).result, { text: "done" });
      assert.equal((await call("late", { n: 1 })).content, "2");
      child.notify("event/session_end", payload({}));
      await child.ask("shutdown");
      await assert.rejects(call("late"), /-32602/);
    },
  ));

test("state of a session ends with it", () =>
  withChild(
    `plugin.command("count", (text, ctx) => String(++ctx.sessions.get(ctx.sessionId).n));`,
    { options: `{ sessions: () => ({ n: 0 }) }` },
    async (child) => {
      await child.initialize();
      const count = async () =>
        (await child.ask("command/run", payload({ name: "count", timeout_s: 5, arguments: "" })))
          .text;
      assert.deepEqual([await count(), await count()], ["1", "2"]);
      child.notify("event/session_end", payload({}));
      await child.ask("shutdown");
      assert.equal(await count(), "1");
    },
  ));

test("what the host refuses", () =>
  withChild(
    `plugin.command("go", async (text, ctx) => {
       const refused = async (work) => { try { return await work(); } catch (error) { return error.name + " " + error.code; } };
       return JSON.stringify([await refused(() => ctx.notify("info", "x")), await refused(() => ctx.inject("x")), await refused(() => ctx.interrupt("x"))]);
     });`,
    { options: `{ uses: ["notify", "interrupt"] }` },
    async (child) => {
      await child.initialize();
      const ran = child.request(
        "command/run",
        payload({ name: "go", timeout_s: 5, arguments: "" }),
      );
      const notify = await child.said("host/notify");
      child.process.stdin.write(
        child.frame({ id: notify.id, error: { code: -32004, message: "busy" } }),
      );
      const interrupt = await child.said("host/interrupt");
      assert.deepEqual(interrupt.params, { session_id: "s-1", turn_id: "t-1", reason: "x" });
      child.process.stdin.write(child.frame({ id: interrupt.id, result: { interrupted: true } }));
      assert.deepEqual(JSON.parse((await child.reply(ran)).result.text), [
        "HostRefused -32004",
        "HostRefused -32003",
        true,
      ]);
    },
  ));

test("settings: read at the start, and a plugin whose settings do not fit is left out", () =>
  withChild(
    `plugin.command("get", (text, ctx) => ctx.config + ctx.dataDir.length.toString().replace(/.*/, ""));`,
    {
      options: `{ configSchema: { type: "object" }, readConfig: (config) => { if (!config.city) throw new Error("city is missing"); return config.city; } }`,
    },
    async (child) => {
      assert.equal((await child.initialize({ name: null })).disabled, undefined);
      for (const plugin of [{}, { name: null, config: { town: "Oslo" } }])
        assert.equal(
          (await child.initialize(plugin)).disabled,
          "its settings do not fit: Error: city is missing",
        );
      const manifest = await child.initialize({ config: { city: "Oslo" } });
      assert.deepEqual(
        [manifest.disabled, manifest.config_schema],
        [undefined, { type: "object" }],
      );
      assert.deepEqual(
        await child.ask("command/run", payload({ name: "get", timeout_s: 5, arguments: "" })),
        { text: "Oslo" },
      );
    },
  ));

test("half a surrogate is no text and does not reach the host", () =>
  withChild(`plugin.command("half", () => "a\\ud800b\\\\ud800");`, {}, async (child) => {
    await child.initialize();
    assert.deepEqual(
      await child.ask("command/run", payload({ name: "half", timeout_s: 5, arguments: "" })),
      { text: "a\ufffdb\\ud800" },
    );
  }));

for (const [how, end] of [
  ["exit without shutdown", (child) => child.notify("exit")],
  ["the end of the input", (child) => child.process.stdin.end()],
  ["SIGTERM", (child) => child.process.kill("SIGTERM")],
]) {
  test(`it ends on ${how}, though a handler is stuck, and lets events finish`, () =>
    withChild(
      `import fs from "node:fs";
       plugin.tool("stuck", () => new Promise(() => {}));
       plugin.on("turn_end", async () => { await new Promise((r) => setTimeout(r, 50)); fs.writeFileSync("told", ""); });`,
      {},
      async (child) => {
        await child.initialize();
        child.request(
          "tool/call",
          payload({ call_id: "c-1", name: "stuck", timeout_s: 3600, arguments: {} }),
        );
        child.notify("event/turn_end", payload({}));
        await child.ask("ping");
        const began = performance.now();
        end(child);
        assert.equal(await child.ended(), 0);
        assert.ok(performance.now() - began < 60_000);
        assert.ok(fs.existsSync(path.join(child.folder, "told")));
      },
    ));
}

test("started by hand it explains itself", () =>
  withChild(
    `plugin.hook("pre_tool_call", () => {});
     plugin.on("turn_end", () => {});
     plugin.tool("weather", { schema: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city", "days"] } }, () => "");
     plugin.command("deploys", () => "");`,
    { options: `{ version: "1.0.0", description: "Tortures." }`, argv: ["--help"] },
    async (child) => {
      assert.equal(await child.ended(), 2);
      await child.until(() => child.stderr.includes("sliphook install"), "the text");
      assert.equal(
        child.stderr.replaceAll(fs.realpathSync(child.file), "FILE").replaceAll(child.file, "FILE"),
        `torture 1.0.0 is a plugin for agents; Sliphook starts it and speaks to it.
Tortures.

  is asked  pre_tool_call
  is told   turn_end
  tools     weather
  commands  /deploys

Try it:
  sliphook fire pre_tool_call --plugin FILE
  sliphook call weather --args '{"city":"...","days":1}' --plugin FILE
  sliphook check FILE

Install it:
  sliphook install FILE
`,
      );
    },
  ));

test("what the host would end the connection for is an error that says so, and the plugin lives on", () =>
  withChild(
    `const nested = (levels) => levels === 1 ? [] : [nested(levels - 1)];
     plugin.tool("deep", ({ levels }) => ({ content: "c", data: nested(levels) }));
     plugin.tool("large", () => "x".repeat(1_048_576));
     plugin.hook("pre_tool_call", async (call, ctx) => {
       const { how } = call.arguments;
       if (how === "log") ctx.log("info", "x".repeat(9_000_000));
       if (how === "fields") ctx.log("info", "deep", { value: nested(200) });
       if (how === "raise") throw new Error("x".repeat(9_000_000));
       if (how === "notify") await ctx.notify("info", "x".repeat(9_000_000));
       return allow();
     });`,
    { options: `{ uses: ["notify"] }` },
    async (child) => {
      await child.initialize();
      const call = (name, args) =>
        child.reply(
          child.request(
            "tool/call",
            payload({ call_id: "c-1", name, timeout_s: 5, arguments: args }),
          ),
        );
      assert.equal((await call("deep", { levels: 126 })).result.content, "c"); // the envelope and the result are two more
      assert.equal(
        (await call("deep", { levels: 127 })).error.message,
        "the answer cannot be sent: it is nested over 128 levels deep",
      );
      assert.match(
        (await call("large", {})).error.message,
        /^the answer cannot be sent: it has 1,048,\d+ bytes, and the result of a tool may have 1,048,576: write it to a file and return the path$/,
      );
      const ask = (how) =>
        child.reply(child.request("hook/pre_tool_call", toolCall({ arguments: { how } })));
      assert.deepEqual((await ask("log")).result, { decision: "allow" });
      const cut = (await child.said("host/log")).params;
      assert.equal(cut.message, "x".repeat(10_000));
      assert.match(cut.fields.left_out, /^it has 9,000,/);
      assert.deepEqual((await ask("fields")).result, { decision: "allow" });
      assert.match((await child.said("host/log")).params.fields.left_out, /nested over 128 levels/);
      assert.match((await ask("raise")).error.message, /^the answer cannot be sent: it has 9,000,/);
      assert.match(
        (await ask("notify")).error.message,
        /host\/notify cannot be sent: it has 9,000,/,
      );
    },
  ));

test("a log call throws nothing, and what no other call can send is named", () =>
  withChild(
    `const circle = {}; circle.a = circle;
     const mute = { toJSON() { throw new Error("no"); }, get [Symbol.toStringTag]() { throw 1; } };
     plugin.tool("logs", (args, ctx) => {
       ctx.log("info", "m", { circle, large: 1n, list: [1], mute });
       ctx.log(3, circle);
       return "logged";
     });
     const uses = {
       message: (ctx) => ctx.progress(3),
       fraction: (ctx) => ctx.progress("x", "half"),
       missing: (ctx) => ctx.answer("q"),
     };
     plugin.tool("wrong", async ({ use }, ctx) => {
       try { await uses[use](ctx); } catch (error) { return error.name + ": " + error.message; }
     });`,
    { options: `{ uses: ["approve"] }` },
    async (child) => {
      await child.initialize();
      const call = async (name, args) =>
        (
          await child.reply(
            child.request("tool/call", payload({ call_id: "c-1", name, timeout_s: 5, arguments: args })),
          )
        ).result.content;
      assert.equal(await call("logs", {}), "logged");
      assert.deepEqual((await child.said("host/log")).params, {
        level: "info",
        message: "m",
        fields: { circle: "<ref *1> { a: [Circular *1] }", large: "1n", list: [1], mute: "<object>" },
      });
      assert.deepEqual((await child.said("host/log")).params, {
        level: "3",
        message: "<ref *1> { a: [Circular *1] }",
      });
      assert.equal(
        await call("wrong", { use: "message" }),
        "TypeError: message must be a string, not number",
      );
      assert.equal(
        await call("wrong", { use: "fraction" }),
        "TypeError: fraction must be a finite number, not half",
      );
      assert.equal(
        await call("wrong", { use: "missing" }),
        "TypeError: choice cannot be sent: $ is undefined",
      );
    },
  ));
