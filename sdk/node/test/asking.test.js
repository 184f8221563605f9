// `ctx.ask` and `plugin.host.ask`: answered later, withdrawn with the call.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

import { Plugin } from "../src/index.js";
import { whyNoAnswer } from "../src/person.js";
import { harness } from "../src/testing.js";
import { toolCall, withChild } from "./child.js";

const ASKS = `
plugin.tool("deploy", async (args, ctx) => JSON.stringify(await ctx.ask("Where to?", {
  schema: { type: "boolean" }, timeoutS: 5 })));
plugin.tool("quick", () => "quick");
`;
const OPTIONS = { options: `{ uses: ["ask", "approve"] }` };

function call(name) {
  return toolCall({ name, arguments: {}, timeout_s: 30 });
}

test("a tool asks, and other calls go on", () =>
  withChild(ASKS, OPTIONS, async (child) => {
    await child.initialize();
    const deploy = child.request("tool/call", call("deploy"));
    const asked = await child.said("host/ask");
    assert.deepEqual(asked.params, {
      session_id: "s-1",
      turn_id: "t-1",
      call_id: "c-1",
      prompt: "Where to?",
      schema: { type: "boolean" },
      timeout_s: 5,
    });
    assert.equal((await child.ask("tool/call", call("quick"))).content, "quick");
    child.process.stdin.write(child.frame({ id: asked.id, result: { outcome: "answered", answer: true } }));
    const { result } = await child.reply(deploy);
    assert.equal(result.content, '{"outcome":"answered","answer":true}');
  }));

test("a cancel of the call withdraws the question", () =>
  withChild(ASKS, OPTIONS, async (child) => {
    await child.initialize();
    const deploy = child.request("tool/call", call("deploy"));
    const asked = await child.said("host/ask");
    child.notify("$/cancelRequest", { id: deploy });
    assert.deepEqual((await child.said("$/cancelRequest")).params, { id: asked.id });
    assert.equal((await child.reply(deploy)).error.code, -32800);
    child.process.stdin.write(child.frame({ id: asked.id, error: { code: -32800, message: "request cancelled" } }));
    assert.equal((await child.ask("tool/call", call("quick"))).content, "quick");
  }));

test("an interrupt ends the call, also if the question ends first", () =>
  withChild(
    `plugin.tool("deploy", async (args, ctx) => {
      await ctx.ask("Where to?").catch((error) => {
        ctx.log("info", \`\${error === ctx.signal.reason} \${ctx.signal.aborted}\`);
        throw error;
      });
    });`,
    OPTIONS,
    async (child) => {
      await child.initialize();
      const deploy = child.request("tool/call", call("deploy"));
      const asked = await child.said("host/ask");
      child.process.stdin.write(child.frame({ id: asked.id, result: { outcome: "interrupted" } }));
      child.notify("$/cancelRequest", { id: deploy });
      assert.equal((await child.said("host/log")).params.message, "true true");
      assert.equal((await child.reply(deploy)).error.code, -32800);
    },
  ));

test("a question that ends alone is interrupted", () =>
  withChild(ASKS, OPTIONS, async (child) => {
    await child.initialize();
    const deploy = child.request("tool/call", call("deploy"));
    const asked = await child.said("host/ask");
    child.process.stdin.write(child.frame({ id: asked.id, result: { outcome: "interrupted" } }));
    assert.equal((await child.reply(deploy)).result.content, '{"outcome":"interrupted"}');
  }));

test("a use that was forgotten is named with its method", async () => {
  const played = await harness(new Plugin("deploy"));
  await assert.rejects(played.plugin.host.ask("?", { sessionId: "s-1" }), {
    name: "HostRefused",
    message: 'ask() needs uses: ["ask"] in new Plugin("deploy", ...)',
  });
  await played.close();
});

test("a schema that does not say the type is refused where it is written", async () => {
  const played = await harness(new Plugin("deploy", { uses: ["ask"] }));
  const schema = { enum: ["a", "b"] };
  await assert.rejects(played.plugin.host.ask("?", { sessionId: "s-1", schema }), {
    name: "TypeError",
    message:
      "the schema of a question needs a type: string, number, integer, boolean or object",
  });
  assert.deepEqual(played.sent, []);
  await played.close();
});

function made() {
  return new Plugin("deploy", { uses: ["ask", "approve"] })
    .tool("deploy", async (args, ctx) => JSON.stringify(await ctx.ask("Where to?")))
    .hook("post_tool_call", async (after, ctx) => {
      await ctx.ask("And now?");
    })
    .on("user_input_required", async (question, ctx) => {
      await ctx.answer(question.question_id, { server: "a" });
    });
}

test("a test answers for the person", async () => {
  const questions = [];
  const person = (question) => {
    questions.push(question.prompt);
    return questions.length === 1 ? "Bonn" : null;
  };
  const played = await harness(made(), { person });
  const results = [await played.callTool("deploy"), await played.callTool("deploy")];
  assert.deepEqual(
    results.map(({ content }) => JSON.parse(content)),
    [
      { outcome: "answered", answer: "Bonn" },
      { outcome: "declined", answer: null },
    ],
  );
  await played.close();
});

test("an answer that the host would not take is the test's fault", async () => {
  const plugin = new Plugin("deploy", { uses: ["ask"] }).tool("deploy", async (args, ctx) =>
    JSON.stringify(await ctx.ask("Sure?", { schema: { type: "boolean" } })),
  );
  const answers = ["yes", true];
  const played = await harness(plugin, { person: () => answers.shift() });
  await assert.rejects(played.callTool("deploy"), {
    name: "TypeError",
    message: 'person: the answer "yes" is no boolean',
  });
  assert.match((await played.callTool("deploy")).content, /answered/);
  await played.close();
});

test("the harness takes the same answers as the host", () => {
  const file = new URL("../../../tests/vectors/answers_of_people.json", import.meta.url);
  for (const { schema, fits, fits_not: fitsNot } of JSON.parse(fs.readFileSync(file))) {
    for (const answer of fits) assert.equal(whyNoAnswer(answer, schema), undefined);
    for (const answer of fitsNot) assert.notEqual(whyNoAnswer(answer, schema), undefined);
  }
});

test("without a person nobody can be asked", async () => {
  const played = await harness(made());
  const { content } = await played.callTool("deploy");
  assert.deepEqual(JSON.parse(content), { outcome: "nobody", answer: null });
  await played.fire("post_tool_call");
  const asked = played.sent.filter(({ method }) => method === "host/ask");
  assert.deepEqual(
    asked.map(({ params }) => params.call_id),
    ["c-1", null],
  );
  await played.tell("user_input_required");
  assert.deepEqual(played.sent.at(-1), {
    method: "host/answer",
    params: { session_id: "s-1", question_id: "q-1", choice: '{"server":"a"}' },
  });
  await played.close();
});
