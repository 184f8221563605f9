// A plugin tested without a process. The harness is imported first: then `run()` does nothing.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { harness, PluginError } from "../src/testing.js";
import { continueWith, deny, HostRefused, Image, Plugin, replace, substitute, Tool, ToolError } from "../src/index.js";

function sample() {
  const plugin = new Plugin("sample", {
    uses: ["notify", "inject", "interrupt", "tools"],
    readConfig: ({ limit = 3 }) => {
      if (typeof limit !== "number") throw new TypeError("limit is no number");
      return { limit };
    },
    sessions: () => [],
  });
  plugin.hook("pre_tool_call", { match: { tool_name: ["shell"] } }, async (call, ctx) => {
    if (call.arguments.command.length > ctx.config.limit)
      return deny(`longer than ${ctx.config.limit}`);
  });
  plugin.hook("user_prompt_submit", () => replace({ text: "no, this needs replaces" }));
  plugin.hook("stop", async (stop, ctx) => {
    await ctx.notify("info", "done");
    if (await ctx.interrupt("enough")) await ctx.inject("remember");
    await ctx.setTools([new Tool("late", {}, ({ name }) => `late ${name}`)]);
    return stop.stop_count === 0 ? continueWith("more") : undefined;
  });
  plugin.on("turn_end", (turn, ctx) => {
    ctx.sessions.get(ctx.sessionId).push(turn.outcome);
    ctx.log("info", "a turn", { outcome: turn.outcome });
    if (turn.outcome === "failed") throw new RangeError("gone");
  });
  plugin.tool("fails", () => {
    throw new ToolError("not today");
  });
  plugin.command("shout", (text) => {
    if (!text) throw new ToolError("say what to shout: /shout TEXT");
    return text.toUpperCase();
  });
  plugin.command("breaks", (text) => {
    throw new RangeError(text);
  });
  return plugin;
}

test("answers of a hook", async () => {
  const played = await harness(sample());
  assert.deepEqual(
    await played.fire("pre_tool_call", { tool_name: "shell", arguments: { command: "long one" } }),
    deny("longer than 3"),
  );
  assert.equal(
    await played.fire("pre_tool_call", { tool_name: "shell", arguments: { command: "ls" } }),
    null,
  );
  assert.equal(await played.fire("pre_tool_call", { tool_name: "mail" }), null);
  const patient = await harness(sample(), { config: { limit: 100 } });
  assert.equal(
    await patient.fire("pre_tool_call", { tool_name: "shell", arguments: { command: "long one" } }),
    null,
  );
});

test("an answer that is not allowed there", async () => {
  const played = await harness(sample());
  await assert.rejects(
    played.fire("user_prompt_submit"),
    (error) => error instanceof PluginError && /needs \{ replaces: true \}/.test(error.message),
  );
});

test("what the plugin asks of the host is kept", async () => {
  const played = await harness(sample());
  assert.deepEqual(await played.fire("stop", { stop_count: 0 }), continueWith("more"));
  assert.deepEqual(
    played.sent.map(({ method }) => method),
    ["host/notify", "host/interrupt", "host/inject", "host/tools"],
  );
  assert.equal((await played.callTool("late", { name: "x" })).content, "late x");
  await assert.rejects(played.callTool("fails"), /there is no tool "fails" here/);
});

test("what is not granted is refused", async () => {
  const played = await harness(sample(), { granted: ["notify"] });
  await assert.rejects(
    played.fire("stop"),
    (error) => error.cause instanceof HostRefused && error.cause.code === -32003,
  );
});

test("a session", async () => {
  const plugin = sample();
  const played = await harness(plugin);
  await played.tell("turn_end");
  assert.deepEqual(plugin.sessions.get("s-1"), ["completed"]);
  await assert.rejects(
    played.tell("turn_end", { outcome: "failed" }),
    /on\("turn_end"\): RangeError: gone/,
  );
  await played.tell("session_end");
  assert.equal(plugin.sessions.has("s-1"), false);
  assert.deepEqual(played.logs[0], {
    level: "info",
    message: "a turn",
    fields: { outcome: "completed" },
  });
});

test("tools and commands", async () => {
  const played = await harness(sample());
  assert.deepEqual(await played.callTool("fails"), {
    content: "not today",
    is_error: true,
    data: null,
  });
  assert.equal(await played.runCommand("shout", "hey"), "HEY");
  await assert.rejects(played.runCommand("gone"), /there is no command "gone" here/);
  await assert.rejects(played.runCommand("shout"), /: say what to shout: \/shout TEXT$/);
  assert.deepEqual(played.logs, []);
  await assert.rejects(played.runCommand("breaks", "no"), /command\("breaks"\): RangeError: no$/);
  assert.equal(played.logs.length, 1);
});

test("mistakes of the test are told from mistakes of the plugin", async () => {
  const played = await harness(sample());
  await assert.rejects(
    played.fire("pre_toolcall"),
    /no hook or event "pre_toolcall"; did you mean "pre_tool_call"\?/,
  );
  await assert.rejects(
    played.fire("pre_tool_call", { tool_nam: "x" }),
    /no field "tool_nam"; did you mean "tool_name"\?/,
  );
  await assert.rejects(
    played.fire("subagent_start"),
    /sample has no handler for the hook subagent_start/,
  );
  await assert.rejects(played.tell("notification"), /sample has no handler for notification/);
});

test("settings that do not fit disable the plugin", async () => {
  const played = await harness(sample(), { config: { limit: "many" } });
  assert.equal(played.manifest.disabled, "its settings do not fit: TypeError: limit is no number");
});

test("a file is loaded anew, and its run() serves nobody", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sliphook-node-"));
  const url = pathToFileURL(path.join(folder, "guard.mjs"));
  const sdk = JSON.stringify(new URL("../src/index.js", import.meta.url).href);
  fs.writeFileSync(
    url,
    `import { Plugin, deny } from ${sdk};
    const plugin = new Plugin("guard");
    let asked = 0;
    plugin.hook("pre_tool_call", () => deny(String(++asked)));
    plugin.run();`,
  );
  for (let round = 0; round < 2; round += 1) {
    const played = await harness(url);
    assert.equal(played.manifest.name, "guard");
    assert.equal((await played.fire("pre_tool_call")).reason, "1");
  }
  fs.writeFileSync(new URL("empty.mjs", url), "");
  await assert.rejects(
    harness(new URL("empty.mjs", url)),
    /calls run\(\) of 0 plugins, not of one/,
  );
  fs.rmSync(folder, { recursive: true });
});

test("ctx says whose call it is, and where", async () => {
  const plugin = new Plugin("where", {});
  const seen = (_, ctx) => [ctx.cwd, ctx.callId, ctx.sessionKey, ctx.platform, ctx.userId];
  plugin.tool("look", (args, ctx) => [...seen(args, ctx), ctx.agentId, ctx.agentDepth]);
  plugin.command("look", (text, ctx) => JSON.stringify([...seen(text, ctx), ctx.parentAgentId]));
  const played = await harness(plugin);
  assert.deepEqual((await played.callTool("look")).data, [
    "/home/ada/project", "c-1", "main", "cli", null, "a-1", 0,
  ]);
  assert.equal(
    await played.runCommand("look"),
    '["/home/ada/project",null,"main","cli",null,null]',
  );
});

test("a hook that is told runs the handler that would be asked", async () => {
  const ran = [];
  const plugin = new Plugin("probe");
  const handler = (name) => () => {
    ran.push(name);
    return deny("no");
  };
  plugin.hook("pre_tool_call", { match: { tool_name: "other" } }, handler("one"));
  plugin.hook("pre_tool_call", { match: { tool_name: "s*" } }, handler("two"));
  plugin.hook("pre_tool_call", handler("three"));
  await (await harness(plugin)).tell("pre_tool_call", { tool_name: "shell" });
  assert.deepEqual(ran, ["two"]);
});

test("a message for the model", async () => {
  const plugin = new Plugin("remind", { uses: ["submit"] });
  plugin.command("now", async (text) => {
    const { message_id, status } = await plugin.host.submit(text, { sessionKey: "main" });
    return `${message_id} ${status}`;
  });
  const played = await harness(plugin);
  assert.equal(await played.runCommand("now", "look"), "m-1 started");
  assert.deepEqual(played.sent, [
    {
      method: "host/submit",
      params: { session_key: "main", platform: null, user_id: null, text: "look" },
    },
  ]);
  const poor = await harness(plugin, { granted: [] });
  await assert.rejects(poor.runCommand("now", "look"), /host\/submit is not granted/);
});

test("the text of a substitute goes ahead in pieces", async () => {
  const plugin = new Plugin("cache");
  const text = `x${"😀".repeat(8192)}`;
  plugin.hook("pre_llm_call", { replaces: true }, (call, ctx) => {
    ctx.say("");
    ctx.say(text);
    return substitute({ response: { role: "assistant", content: text }, finish_reason: "stop" });
  });
  plugin.hook("stop", (stop, ctx) => ctx.say("x"));
  const played = await harness(plugin);
  await played.fire("pre_llm_call", { attempt: 2 });
  const pieces = played.sent.map(({ method, params }) => {
    assert.equal(method, "$/progress");
    return params.text;
  });
  assert.equal(pieces.join(""), text);
  assert.deepEqual(
    pieces.map((piece) => [piece.length, piece.isWellFormed?.() ?? true]),
    [
      [8193, true],
      [8192, true],
    ],
  );
  await assert.rejects(played.fire("stop"), /ctx.say\(\) is for handlers of pre_llm_call/);
});

test("a route needs its grant", async () => {
  const route = { provider: "router" };
  for (const [uses, granted] of [
    [["route"], ["route"]],
    [["route"], []],
    [[], ["route"]],
  ]) {
    const plugin = new Plugin("switch", { uses });
    plugin.hook("pre_llm_call", { replaces: true }, () => replace({ route }));
    const fired = (await harness(plugin, { granted })).fire("pre_llm_call");
    if (uses.length && granted.length) assert.deepEqual((await fired).replace, { route });
    else await assert.rejects(fired, /needs uses: \["route"\]/);
  }
});

test("images", async () => {
  const gif = Buffer.from("GIF89a\0\0\0\0");
  const plugin = new Plugin("look");
  const shown = {
    one: new Image(gif, "image/gif"),
    list: ["before", new Image(gif, "image/gif")],
    result: { content: "x", parts: [{ type: "text", text: "y" }] },
    mixed: [new Image(gif), 7],
  };
  plugin.tool("show", ({ kind }) => shown[kind]);
  const played = await harness(plugin);
  const image = { type: "image", mimeType: "image/gif", data: "R0lGODlhAAAAAA==" };
  assert.deepEqual(await played.callTool("show", { kind: "one" }), {
    content: "",
    is_error: false,
    data: null,
    parts: [image],
  });
  const listed = await played.callTool("show", { kind: "list" });
  assert.equal(listed.content, "before");
  assert.deepEqual(listed.parts, [{ type: "text", text: "before" }, image]);
  assert.deepEqual((await played.callTool("show", { kind: "result" })).parts, [
    { type: "text", text: "y" },
  ]);
  const mixed = await played.callTool("show", { kind: "mixed" });
  assert.ok(mixed.is_error && mixed.content.includes("it takes texts and Images"), mixed.content);
  assert.throws(() => new Image("GIF89a"), TypeError);
});
