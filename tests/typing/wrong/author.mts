// What an author may get wrong: tsc finds an error on each line that is marked.
// It is checked, not run, by tests/typing/test_wrong_uses.py.

import {
  Plugin,
  allow,
  ask,
  context,
  continueWith,
  deny,
  replace,
  substitute,
  type Answer,
  type PreToolCall,
  type Stop,
} from "sliphook-sdk";
import { harness } from "sliphook-sdk/testing";

const plugin = new Plugin("wrong");

plugin.hook("pre_tool_cal", () => null); // wrong: a misspelt hook
plugin.on("turn_ended", () => {}); // wrong: a misspelt event
plugin.hook("turn_end", () => null); // wrong: an event that is asked
plugin.hook("stop", (call: PreToolCall) => null); // wrong: the payload of another hook
plugin.on("turn_end", async (end: Stop) => {}); // wrong: the payload of another event
plugin.hook("stop", (stop) => continueWith(stop.tool_name)); // wrong: a field of another payload
plugin.hook("stop", () => deny("no")); // wrong: a deny where nothing can be denied
plugin.hook("pre_tool_call", async () => continueWith("go on")); // wrong: continue outside of stop
plugin.hook("user_prompt_submit", () => allow()); // wrong: an allow where only a deny counts
plugin.hook("post_tool_call", () => ask("sure?")); // wrong: an ask behind the call
plugin.hook("pre_tool_call", () => deny("a").and(continueWith("b"))); // wrong: a joined answer of which half is allowed
plugin.hook("stop", (): Answer => ({ decision: "deny" })); // wrong: an answer that may say anything
plugin.hook("pre_tool_call", () => "deny"); // wrong: a text for an answer
plugin.on("turn_end", () => deny("no")); // wrong: an answer to an event
plugin.hook("pre_tool_call", () => replace({ arguments: {} })); // wrong: a replacement without replaces
plugin.hook("pre_tool_call", { replaces: true }, () => replace({ text: "x" })); // wrong: a replacement of another hook's field
plugin.hook("user_prompt_submit", { replaces: true }, () => replace({ txt: "x" })); // wrong: a replacement of a misspelt field
plugin.hook("user_prompt_submit", { replaces: true }, () => replace({ text: 1 })); // wrong: a replacement of another type
plugin.hook("pre_llm_call", { replaces: true }, () => substitute({ finish_reason: "stop" })); // wrong: a substitute without its response
plugin.hook("stop", { replaces: true }, () => null); // wrong: replaces where nothing can be replaced
plugin.hook("stop", { onFailure: "closed" }, () => null); // wrong: closed where nothing can be denied
plugin.hook("stop", { attempts: true }, () => null); // wrong: attempts of what is asked once
plugin.hook("pre_tool_call", { match: { tool: "x" } }, () => null); // wrong: a match of a misspelt field
plugin.hook("pre_tool_call", { match: { arguments: "x" } }, () => null); // wrong: a match of what cannot be matched
plugin.on("pre_llm_call", { include: ["message"] }, () => {}); // wrong: an include of a misspelt field
plugin.hook("stop", (stop, ctx, more: number) => null); // wrong: a handler with another argument
plugin.hook("pre_tool_call", { priority: 2, on_failure: "closed" }, () => null); // wrong: a misspelt option

class Gates {
  async asks(call: PreToolCall) {
    return null;
  }
}
plugin.hook("stop", new Gates().asks); // wrong: a method for another payload
plugin.command("deploy", () => deny("no")); // wrong: a command that answers a hook
plugin.onStart(() => "no"); // wrong: a start that returns a text
await (await harness(plugin)).fire("turn_end"); // wrong: a test that asks an event
