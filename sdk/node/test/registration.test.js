// What can be said, and what cannot: without a process.

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkedAnswer } from "../src/answers.js";
import { Context } from "../src/context.js";
import { FrameSplitter, FramingError } from "../src/framing.js";
import { allow, AnswerError, context, deny, Plugin, RegistrationError } from "../src/index.js";
import { matcher } from "../src/matching.js";
import { Peer } from "../src/peer.js";
import { CATALOGUE } from "../src/protocol.js";
import { harness } from "../src/testing.js";

const nothing = () => {};

for (const [why, register] of [
  [
    /names no hook or event; did you mean "pre_tool_call"\?$/,
    (p) => p.hook("pre_tool_cal", nothing),
  ],
  [
    /cannot be asked: turn_end is an event, so say on\("turn_end"\)$/,
    (p) => p.hook("turn_end", nothing),
  ],
  [
    /has no option "on_failure"; did you mean "onFailure"\?$/,
    (p) => p.hook("stop", { on_failure: "open" }, nothing),
  ],
  [
    /cannot have onFailure "shut": it takes "open" and "closed"$/,
    (p) => p.hook("pre_tool_call", { onFailure: "shut" }, nothing),
  ],
  [
    /cannot have onFailure "closed": stop cannot be denied$/,
    (p) => p.hook("stop", { onFailure: "closed" }, nothing),
  ],
  [
    /cannot have timeoutS 0: it takes 0.05 to 600 seconds$/,
    (p) => p.hook("stop", { timeoutS: 0 }, nothing),
  ],
  [/cannot have timeoutS NaN/, (p) => p.hook("stop", { timeoutS: NaN }, nothing)],
  [/nothing of stop can be replaced$/, (p) => p.hook("stop", { replaces: true }, nothing)],
  [
    /cannot include "text": user_prompt_submit has no heavy fields$/,
    (p) => p.hook("user_prompt_submit", { include: ["text"] }, nothing),
  ],
  [
    /cannot match "tool": pre_tool_call has no such string field/,
    (p) => p.hook("pre_tool_call", { match: { tool: "x" } }, nothing),
  ],
  [
    /cannot match "text": it is free text, .*; look at it in the handler$/,
    (p) => p.hook("user_prompt_submit", { match: { text: "x" } }, nothing),
  ],
  [
    /cannot match tool_name: it takes a pattern, or a list of them$/,
    (p) => p.hook("pre_tool_call", { match: { tool_name: [] } }, nothing),
  ],
  [/needs a function as its last argument$/, (p) => p.hook("stop", {})],
  [
    /would never be asked: all that it matches goes to those before it, such as the one at .*registration\.test\.js:\d+$/,
    (p) => p.hook("stop", nothing).hook("stop", nothing),
  ],
  [/is no name for a tool/, (p) => p.tool("a b", nothing)],
  [
    /is registered twice; the other is at .*registration\.test\.js:\d+$/,
    (p) => p.tool("a", nothing).tool("a", nothing),
  ],
  [/cannot be: \/stop is the agent's own$/, (p) => p.command("stop", nothing)],
]) {
  test(`refused: ${why.source}`, () => {
    assert.throws(
      () => register(new Plugin("torture")),
      (error) => {
        assert.ok(error instanceof RegistrationError);
        assert.match(error.message, why);
        assert.match(error.message, /^\/.*registration\.test\.js:\d+: /);
        return true;
      },
    );
  });
}

test("a plugin's own name and options", () => {
  assert.throws(() => new Plugin("No"), /cannot be a plugin's name/);
  assert.throws(() => new Plugin("a", { use: [] }), /has no option "use"; did you mean "uses"\?/);
  assert.throws(
    () => new Plugin("a", { uses: ["inejct"] }),
    /which is not among notify, tools, inject, interrupt/,
  );
});

test("the manifest", () => {
  const plugin = new Plugin("guard", { version: "1.0.0", env: ["A", { name: "B", secret: true }] });
  plugin.hook(
    "pre_tool_call",
    { match: { tool_name: ["shell"] }, timeoutS: 2, onFailure: "closed" },
    nothing,
  );
  plugin
    .on("pre_llm_call", { include: ["tools"] }, nothing)
    .on("pre_llm_call", { include: ["messages"] }, nothing);
  assert.deepEqual(JSON.parse(JSON.stringify(plugin.manifest())), {
    protocol_version: 1,
    name: "guard",
    version: "1.0.0",
    subscriptions: [
      {
        event: "pre_tool_call",
        match: { tool_name: ["shell"] },
        timeout_s: 2,
        on_failure: "closed",
      },
      { event: "pre_llm_call", mode: "event", include: ["messages", "tools"] },
    ],
    tools: [],
    commands: [],
    uses: [],
    env: [{ name: "A" }, { name: "B", secret: true }],
  });
});

test("answers are joined", () => {
  assert.deepEqual(
    { ...allow().and(context("a")).and(context("b")) },
    { decision: "allow", context: ["a", "b"] },
  );
  assert.throws(() => allow().and(deny("no")), /both answers have decision/);
});

test("every hook takes what the catalogue allows", () => {
  checkedAnswer(
    "pre_tool_call",
    CATALOGUE.pre_tool_call,
    { decision: "deny", reason: "no", _meta: 1 },
    false,
  );
  checkedAnswer(
    "pre_tool_call",
    CATALOGUE.pre_tool_call,
    { replace: { arguments: {} }, substitute: { result: "x" } },
    true,
  );
  const refused = (answer) =>
    assert.throws(
      () => checkedAnswer("pre_tool_call", CATALOGUE.pre_tool_call, answer, true),
      AnswerError,
    );
  for (const answer of [
    true,
    "deny",
    [],
    { decision: "perhaps" },
    { context: "a" },
    { context: [1] },
    { reason: 1 },
    { continue_with: "x" },
    { replace: { text: "" } },
    new Error("no"),
    new Map([["decision", "deny"]]),
    new Date(),
    new Boolean(false),
  ]) {
    refused(answer);
  }
});

test("an answer is written with what it has from its class", () => {
  class Deny {
    get decision() {
      return "deny";
    }
    get reason() {
      return "no";
    }
  }
  const written = (answer) =>
    JSON.stringify(checkedAnswer("pre_tool_call", CATALOGUE.pre_tool_call, answer, false));
  const denied = '{"decision":"deny","reason":"no"}';
  assert.equal(written(new Deny()), denied);
  assert.equal(written(Object.create(deny("no"))), denied);
  assert.equal(written(deny("no")), denied);
  assert.equal(written({}), "{}");
});

test("what would have no effect is refused when the plugin runs", async () => {
  const late = /is registered too late, when the plugin runs: do it before plugin\.run\(\)/;
  const plugin = new Plugin("guard");
  plugin.onStart(() => {
    plugin.hook("pre_tool_call", () => deny("no"));
    assert.throws(() => plugin.tool("t", nothing), /, or by addTool\(\) when it runs$/);
  });
  const played = await harness(plugin);
  assert.equal((await played.fire("pre_tool_call")).decision, "deny");
  for (const register of [
    () => plugin.hook("stop", nothing),
    () => plugin.on("turn_end", nothing),
    () => plugin.tool("t", nothing),
    () => plugin.command("c", nothing),
    () => plugin.onShutdown(nothing),
  ])
    assert.throws(register, (error) => error instanceof RegistrationError && late.test(error.message));
  await played.close();
});

test("patterns", () => {
  const fits = (glob, text) => matcher({ f: glob })({ f: text });
  assert.ok(fits("write_*", "write_/a\nb"));
  assert.ok(fits(["a", "b?"], "b\u{1F600}"));
  assert.ok(!fits("write_*", "Write_a"));
  assert.ok(!fits("a.c", "abc"));
  assert.ok(!fits("*", null));
  assert.ok(fits("[x]+{1}/-", "[x]+{1}/-"));
});

test("frames, however they are split", () => {
  const bytes = Buffer.from(
    'Content-Length: 12\r\n\r\n{"a":"\u00e9{}"}\n\r\n {"b":1}\nContent-Length: 3\r\nX: y\r\n\r\n{}\n',
  );
  for (let size = 1; size <= bytes.length; size++) {
    const splitter = new FrameSplitter();
    const texts = [];
    for (let at = 0; at < bytes.length; at += size)
      texts.push(...splitter.feed(bytes.subarray(at, at + size)));
    assert.deepEqual(
      texts.map((text) => text.trim()),
      ['{"a":"\u00e9{}"}', '{"b":1}', "{}"],
    );
  }
  assert.throws(() => new FrameSplitter().feed(Buffer.from("hello\r\n\r\n")), FramingError);
  assert.throws(
    () => new FrameSplitter().feed(Buffer.from("Content-Length: x\r\n\r\n")),
    FramingError,
  );
});

test("ctx has the span of the envelope", () => {
  const peer = new Peer(nothing);
  const traced = peer.receive(
    '{"jsonrpc":"2.0","id":1,"method":"hook/stop","traceparent":"00-0af7-b7ad-01","params":{}}',
  );
  assert.equal(new Context(undefined, traced).traceparent, "00-0af7-b7ad-01");
  assert.equal(
    new Context(undefined, peer.receive('{"jsonrpc":"2.0","method":"event/stop","params":{}}'))
      .traceparent,
    null,
  );
});

test("patterns of match", () => {
  for (const [globs, text, fits] of [
    ["shell", "shell", true],
    ["shell", "shells", false],
    ["write_*", "write_", true],
    ["**", "", true],
    ["?", "", false],
    ["?", "\n", true],
    ["?", "😀", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["*a?c*", "xxabcxx", true],
    ["a.c", "abc", false],
    ["[ab]", "[ab]", true],
    [["a", "b*"], "bcd", true],
    ["*a".repeat(400) + "*b", "a".repeat(1000), false],
    ["b", "a".repeat(1025), true],
  ])
    assert.equal(matcher({ tool_name: globs })({ tool_name: text }), fits, `${globs} ${text}`);
  assert.equal(matcher({ tool_name: "*" })({ tool_name: null }), false);
  const ofShells = matcher({ tool_kind: "shell" });
  const kinds = ["shell", "read", null, undefined];
  assert.deepEqual(
    kinds.map((tool_kind) => ofShells({ tool_kind })),
    [true, false, true, true],
  );
});

test("routes and attempts", () => {
  const plugin = new Plugin("switch", { uses: ["route"], servers: ["127.0.0.1:8080"] });
  plugin.hook("pre_llm_call", { replaces: true, attempts: true }, () => undefined);
  const { servers, subscriptions } = plugin.manifest();
  assert.deepEqual(servers, ["127.0.0.1:8080"]);
  assert.equal(subscriptions[0].attempts, true);
  assert.throws(
    () => new Plugin("switch", { servers: ["127.0.0.1:8080"] }),
    /has servers, which needs uses: \["route"\]/,
  );
  assert.throws(
    () => plugin.hook("stop", { attempts: true }, () => undefined),
    /cannot have attempts: stop is asked once/,
  );
});
