// What an author writes, for the type checker; a line that must not be accepted says so.
import { allow, context, continueWith, deny, Plugin, replace, substitute } from "sliphook-sdk";

const plugin = new Plugin("guard", {
  sessions: () => ({ n: 0 }),
  readConfig: (raw) => ({ city: String(raw.city) }),
});

plugin.hook(
  "pre_tool_call",
  { match: { tool_name: ["shell"] }, onFailure: "closed", replaces: true },
  async (call, ctx) => {
    const name: string = call.tool_name;
    ctx.sessions.get(ctx.sessionId).n += 1;
    ctx.log("info", `${name} in ${ctx.config.city}`);
    if (ctx.signal.aborted) return;
    if (name === "a") return allow().and(context("b"));
    if (name === "b") return replace({ arguments: { command: "ls" } });
    if (name === "c") return substitute({ result: "nothing" });
    return deny("no");
  },
);
plugin.hook("stop", (stop) => (stop.stop_count === 0 ? continueWith("go on") : null));
plugin.on("turn_end", (turn) => turn.outcome === "interrupted");
plugin.on("pre_llm_call", { include: ["messages"] }, (call) => call.messages?.length);
plugin.tool("weather", { schema: { type: "object" } }, async (args) => `${args.city}`);
plugin.command("deploys", (text) => text.toUpperCase());

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
const content: string = (await played.callTool("weather", { city: "Oslo" })).content;
// @ts-expect-error: no such hook
await played.fire("turn_end");
// @ts-expect-error: no such field
await played.tell("turn_end", { outcom: content });
