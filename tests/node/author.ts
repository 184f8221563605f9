// What an author writes, for the type checker; a line that must not be accepted says so.
import {
  allow,
  context,
  continueWith,
  deny,
  disabled,
  NotConnected,
  Plugin,
  replace,
  substitute,
  Tool,
} from "sliphook-sdk";

const plugin = new Plugin("guard", {
  sessions: () => ({ n: 0 }),
  readConfig: (raw) => ({ city: String(raw.city) }),
});

plugin.hook(
  "pre_tool_call",
  { match: { tool_name: ["shell"] }, onFailure: "closed", replaces: true },
  async (call, ctx) => {
    const name: string = call.tool_name;
    if (call.tool_kind === "read") return null;
    ctx.sessions.get(ctx.sessionId).n += 1;
    ctx.log("info", `${name} in ${ctx.config.city}`);
    if (ctx.signal.aborted) return;
    if (name === "a") return allow().and(context("b"));
    if (name === "b") return replace({ arguments: { command: "ls" } });
    if (name === "c") return substitute({ result: "nothing" });
    return deny("no");
  },
);
plugin.hook("pre_tool_call", { match: { tool_kind: ["shell", "mcp"] } }, () => deny("no"));
plugin.hook("stop", (stop) => (stop.stop_count === 0 ? continueWith("go on") : null));
plugin.on("turn_end", (turn) => turn.outcome === "interrupted");
plugin.hook("pre_llm_call", { replaces: true, attempts: true }, (call, ctx) => {
  if (call.failure?.kind === "connection") return;
  if (call.route?.base_url === "https://api.openai.com/v1")
    return replace({
      route: { base_url: "http://127.0.0.1:8080/v1", api: "openai" },
      messages: [{ role: "user", content: "hi" }, ...(call.messages ?? [])],
    });
  ctx.say("fo");
  return substitute({
    response: { role: "assistant", content: "four" },
    usage: { output_tokens: 1 },
    finish_reason: "stop",
  });
});
// @ts-expect-error: it speaks one of two
plugin.hook("pre_llm_call", { replaces: true }, () => replace({ route: { api: "gemini" } }));
plugin.hook("pre_llm_call", { replaces: true }, () =>
  replace({ messages: [[0, 7], { role: "user", content: "new" }] }),
);
// @ts-expect-error: a pair has two numbers
plugin.hook("pre_llm_call", { replaces: true }, () => replace({ messages: [[0]] }));
plugin.on("pre_llm_call", { include: ["messages"] }, (call) => call.messages?.length);
plugin.tool("weather", { schema: { type: "object" } }, async (args) => `${args.city}`);
plugin.tool("build", async (args, ctx) => {
  const made = await ctx.run(["make", String(args.target)], { timeoutS: 60, env: { CI: "1" } });
  return made.ok ? made.stdout : `${made.status} ${made.stderr}`;
});
plugin.command("deploys", (text) => text.toUpperCase());

plugin.onStart(async (ctx) => {
  if (ctx.config.city === "") return disabled("no city");
  await plugin.addTool(new Tool("more", {}, (args, call) => call.config.city));
});
plugin.onShutdown((ctx) => ctx.log("info", `${ctx.deadline}`));
plugin.host.inject("x", { sessionId: "s" }).catch((error) => error instanceof NotConnected);
// @ts-expect-error it starts or it says why not
plugin.onStart(() => "no");
// @ts-expect-error outside of a handler the session must be named
plugin.host.interrupt("enough");

// @ts-expect-error there is no such hook
plugin.hook("pre_tool_cal", () => null);
// @ts-expect-error an event is not asked
plugin.hook("turn_end", () => null);
// @ts-expect-error stop cannot be denied
plugin.hook("stop", () => deny("no"));
// @ts-expect-error it is spelt onFailure
plugin.hook("pre_tool_call", { on_failure: "closed" }, () => null);
// @ts-expect-error arguments are no string
plugin.hook("pre_tool_call", { match: { arguments: "x" } }, () => null);
// @ts-expect-error the text is a string
plugin.hook("user_prompt_submit", { replaces: true }, () => replace({ text: 1 }));
// @ts-expect-error turn_end has no heavy fields
plugin.on("turn_end", { include: ["messages"] }, () => null);

import { harness, PluginError } from "sliphook-sdk/testing";

const played = await harness(plugin, { config: { city: "Oslo" }, granted: ["notify"] });
const answer = await played.fire("pre_tool_call", { tool_name: "shell" });
if (answer?.decision !== "deny") throw new PluginError(String(answer?.reason));
await played.runCommand("deploys", "", { cancelAfterMs: 5 });
await played.close();
const content: string = (await played.callTool("weather", { city: "Oslo" })).content;
// @ts-expect-error: no such hook
await played.fire("turn_end");
// @ts-expect-error: no such field
await played.tell("turn_end", { outcom: content });
