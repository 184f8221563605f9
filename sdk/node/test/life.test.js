// The start and the end of a plugin, and requests to the host in between.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { disabled, HostRefused, NotConnected, Plugin, RegistrationError, Tool } from "../src/index.js";
import { CallCancelled, harness, PluginError } from "../src/testing.js";
import { payload, withChild } from "./child.js";

const LIVES = `
  import fs from "node:fs";
  import { disabled } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
  plugin.onStart(async (ctx) => {
    if (ctx.config.bad) throw new TypeError("no such port");
    if (ctx.config.off) return disabled("ffmpeg is not installed");
    fs.writeFileSync(ctx.dataDir + "/started", "yes");
  });
  plugin.on("turn_end", async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    fs.appendFileSync("events", "turn_end ");
  });
  plugin.onShutdown(async (ctx) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    fs.appendFileSync("events", "end ");
    ctx.log("info", "cleaned up", { inTime: ctx.deadline > performance.now() });
  });
`;

const events = (child) => fs.readFileSync(path.join(child.folder, "events"), "utf8");
const tool = (name) => payload({ call_id: "c-1", name, timeout_s: 5, arguments: {} });

test("it starts before it is ready, and ends once", () =>
  withChild(LIVES, {}, async (child) => {
    assert.equal((await child.initialize()).disabled, undefined);
    assert.ok(fs.existsSync(path.join(child.folder, "started")));
    child.notify("event/turn_end", payload({}));
    assert.deepEqual(await child.ask("shutdown"), {});
    assert.deepEqual((await child.said("host/log")).params, {
      level: "info",
      message: "cleaned up",
      fields: { inTime: true },
    });
    child.notify("exit");
    assert.equal(await child.ended(), 0);
    assert.equal(events(child), "turn_end end ");
  }));

for (const [how, end] of [
  ["the end of the input", (child) => child.process.stdin.end()],
  ["SIGTERM", (child) => child.process.kill("SIGTERM")],
  ["exit behind a shutdown that is not answered", (child) => (child.request("shutdown"), child.notify("exit"))],
])
  test(`it cleans up at ${how}`, () =>
    withChild(LIVES, {}, async (child) => {
      await child.initialize();
      end(child);
      assert.equal(await child.ended(), 0);
      assert.equal(events(child), "end ");
    }));

test("a start that throws is told with file and line, and nothing is cleaned up", () =>
  withChild(LIVES, {}, async (child) => {
    await assert.rejects(
      child.initialize({ config: { bad: true } }),
      /-32603: onStart\(\) failed: TypeError: no such port \(\/.*torture\.mjs:7\)$/,
    );
    child.process.stdin.end();
    assert.equal(await child.ended(), 0);
    assert.ok(!fs.existsSync(path.join(child.folder, "events")));
  }));

test("it may find that it cannot work here, and an installation starts nothing", () =>
  withChild(LIVES, {}, async (child) => {
    const asked = { protocol_versions: [1], plugin: { name: "torture", data_dir: child.folder, config: {} } };
    assert.equal((await child.ask("initialize", { ...asked, manifest_only: true })).name, "torture");
    assert.equal((await child.initialize({ config: { off: true } })).disabled, "ffmpeg is not installed");
    child.process.stdin.end();
    await child.ended();
    assert.ok(!fs.existsSync(path.join(child.folder, "started")));
    assert.ok(!fs.existsSync(path.join(child.folder, "events")));
  }));

test("a start that takes too long is named, and so is what it waits for", () =>
  withChild(
    `import { LIMITS } from ${JSON.stringify(new URL("../src/protocol.js", import.meta.url).href)};
     LIMITS.INITIALIZE_TIMEOUT_S = 1.25;
     plugin.onStart(async () => plugin.host.notify("info", "up"));`,
    { options: `{ uses: ["notify"] }` },
    async (child) => {
      await assert.rejects(
        child.initialize(),
        /onStart\(\) took longer than 0\.25 s \(\/.*torture\.mjs:5\); host\/notify is taken only when the plugin has started, so onStart must not await it$/,
      );
    },
  ));

test("what onStart leaves behind waits until the host takes it", () =>
  withChild(
    `plugin.onStart(async () => {
       plugin.host.notify("info", "up").then(() => plugin.host.log("info", "told"));
       await new Promise((resolve) => setTimeout(resolve, 20));
     });`,
    { options: `{ uses: ["notify"] }` },
    async (child) => {
      await child.initialize();
      const { id, params } = await child.said("host/notify");
      assert.deepEqual(params, { level: "info", message: "up" });
      child.process.stdin.write(child.frame({ id, result: {} }));
      assert.equal((await child.said("host/log")).params.message, "told");
    },
  ));

test("who waits for a host that goes is told, and so is who asks then", () =>
  withChild(
    `import fs from "node:fs";
     const told = [];
     plugin.tool("asks", async () => {
       for (const text of ["open", "new"])
         await plugin.host.notify("info", text).catch((error) => told.push(error.name + ": " + error.message));
       fs.writeFileSync("told", told.join("\\n"));
     });`,
    { options: `{ uses: ["notify"] }` },
    async (child) => {
      await child.initialize();
      child.request("tool/call", tool("asks"));
      await child.said("host/notify");
      child.process.stdin.end();
      await child.ended();
      const why = "NotConnected: host/notify has no answer any more: the host has gone, and the plugin ends";
      assert.equal(fs.readFileSync(path.join(child.folder, "told"), "utf8"), `${why}\n${why}`);
    },
  ));

test("before the plugin runs", async () => {
  const plugin = new Plugin("idle", { uses: ["notify", "tools"] });
  const soon = new Tool("soon", {}, () => "");
  await assert.rejects(plugin.host.notify("info", "x"), NotConnected);
  await assert.rejects(plugin.host.addTool(soon), /host\/tools: the plugin does not run/);
  await assert.rejects(plugin.host.inject("x", { sessionId: "s-1" }), (error) => error.code === -32003);
  await plugin.addTool(soon);
  assert.deepEqual(plugin.manifest().tools.map(({ name }) => name), ["soon"]);
  await assert.rejects(plugin.addTool(soon), RegistrationError);
  await assert.rejects(plugin.addTool(() => ""), /a tool is what new Tool\(/);
  await plugin.removeTool("soon");
  await assert.rejects(plugin.removeTool("soon"), /the plugin idle has no tool "soon"/);
});

function offering(start = () => {}) {
  const plugin = new Plugin("offering", { uses: ["tools"] });
  plugin.tool("kept", () => "kept").tool("other", () => "other");
  plugin.onStart(start);
  return plugin;
}
const more = () => new Tool("more", {}, () => "more");
const offered = ({ sent }) => sent.map(({ params }) => params.tools.map(({ name }) => name));

test("one tool comes and goes", async () => {
  const plugin = offering();
  const played = await harness(plugin);
  await plugin.addTool(more());
  assert.equal((await played.callTool("more")).content, "more");
  assert.equal((await played.callTool("kept")).content, "kept");
  await assert.rejects(plugin.addTool(more()), /tool\("more"\) cannot be added: there is one of that name, at /);
  await plugin.removeTool("kept");
  await assert.rejects(played.callTool("kept"), /there is no tool "kept" here/);
  await plugin.addTool(more(), { sessionId: "s-2" });
  await assert.rejects(plugin.removeTool("gone"), /there is no tool "gone" among other, more/);
  assert.deepEqual(offered(played), [["kept", "other", "more"], ["other", "more"], ["more"]]);
  assert.deepEqual(played.logs, []);
});

test("a tool that onStart adds is declared", async () => {
  const plugin = offering(async () => {
    await plugin.addTool(more());
    await plugin.removeTool("other");
  });
  for (let time = 0; time < 2; time += 1) {
    const played = await harness(plugin);
    assert.deepEqual(played.manifest.tools.map(({ name }) => name), ["kept", "more"]);
    assert.equal((await played.callTool("more")).content, "more");
    assert.deepEqual(played.sent, []);
  }
});

test("changes at the same time lose none, and a refused one takes none back", async () => {
  const plugin = offering();
  const played = await harness(plugin);
  const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
  await Promise.all(names.map((name) => plugin.addTool(new Tool(name, {}, () => name))));
  assert.deepEqual(offered(played).at(-1), ["kept", "other", ...names]);
  const refused = await harness(plugin, { granted: [] });
  await assert.rejects(plugin.addTool(more()), HostRefused);
  await assert.rejects(refused.callTool("more"), /there is no tool "more"/);
  assert.equal((await refused.callTool("kept")).content, "kept");
});

test("setTools says what it takes away", async () => {
  const plugin = offering(async () => plugin.setTools([more()]));
  const played = await harness(plugin);
  await plugin.setTools([]);
  await plugin.setTools([]);
  assert.deepEqual(played.logs.map(({ message }) => message), [
    "setTools() takes away more, which the plugin declares; addTool() keeps them",
  ]);
});

test("the harness runs what goes on in the background, cancels calls, and ends the plugin", async () => {
  const plugin = new Plugin("background", { uses: ["notify"] });
  const seen = [];
  let tick;
  plugin.onStart((ctx) => {
    tick = setInterval(() => plugin.host.notify("info", ctx.config.text), 1);
  });
  plugin.onShutdown(() => clearInterval(tick));
  plugin.on("turn_end", async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    seen.push("told");
  });
  const stopped = async (_, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    ctx.signal.throwIfAborted();
  };
  plugin.tool("waits", stopped).hook("stop", stopped).command("deaf", async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return "too late";
  });
  const played = await harness(plugin, { config: { text: "tick" } });
  await played.tell("turn_end");
  assert.deepEqual(seen, ["told"]);
  assert.deepEqual(played.sent[0], { method: "host/notify", params: { level: "info", message: "tick" } });
  await assert.rejects(played.callTool("waits", {}, { cancelAfterMs: 5 }), CallCancelled);
  await assert.rejects(played.fire("stop", {}, { cancelAfterMs: 5 }), CallCancelled);
  await assert.rejects(
    played.runCommand("deaf", "", { cancelAfterMs: 5 }),
    /command\/run was cancelled, and answered all the same/,
  );
  await played.close();
  await assert.rejects(plugin.host.notify("info", "late"), NotConnected);
});

test("the harness starts and ends a plugin", async () => {
  const plugin = new Plugin("lives");
  plugin.onStart(({ config }) => {
    if (config.off) return disabled("off");
    if (config.wrong) throw new RangeError("wrong");
    return config.odd;
  });
  plugin.onShutdown(() => {
    throw new Error("stuck");
  });
  await assert.rejects(harness(plugin, { config: { wrong: 1 } }), /onStart\(\) failed: RangeError: wrong \(/);
  await assert.rejects(harness(plugin, { config: { odd: "x" } }), /returned string; it returns nothing, or disabled\(reason\)/);
  const off = await harness(plugin, { config: { off: true } });
  assert.equal(off.manifest.disabled, "off");
  await off.close();
  const played = await harness(plugin);
  await assert.rejects(
    played.close(),
    (error) => error instanceof PluginError && error.message === "onShutdown(): Error: stuck",
  );
});

test("one function for each moment", () => {
  const plugin = offering();
  assert.throws(() => plugin.onStart(() => {}), /onStart\(\) is registered twice; the other is at /);
  assert.throws(() => plugin.onShutdown(), /onShutdown\(\) needs a function/);
});
