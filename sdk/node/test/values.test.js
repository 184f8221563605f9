// What JSON does not have, and what it says in another way: the list that both SDKs keep to.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

import { Plugin, replace } from "../src/index.js";
import { harness } from "../src/testing.js";

const LIST = JSON.parse(
  fs.readFileSync(new URL("../../../tests/vectors/author_values.json", import.meta.url)),
);

const NAMES = `
  class Point { constructor(x) { this.x = x; } }
  const later = async () => {};
  const circle = () => { const value = {}; value.a = [value]; return value; };
`;

async function call(handler, args = {}, schema = undefined) {
  const plugin = new Plugin("values");
  plugin.tool("stats", { schema }, handler);
  return await (await harness(plugin)).callTool("stats", args);
}

for (const row of LIST.results.filter(({ node }) => node !== null)) {
  test(`a tool returns: ${row.name}`, async () => {
    const result = await call(() => new Function(`${NAMES} return (${row.node});`)());
    if (row.error !== undefined) {
      assert.equal(result.is_error, true);
      assert.match(result.content, /^stats: returned .*, which JSON cannot hold: \$/);
      assert.ok(result.content.includes(row.error), result.content);
      return;
    }
    assert.equal(result.is_error, false, result.content);
    const data = JSON.parse(JSON.stringify(result.data));
    if (row.match === undefined) assert.deepEqual(data, row.data);
    for (const [key, pattern] of Object.entries(row.match ?? {}))
      assert.match(data[key], new RegExp(pattern, "u"));
    assert.equal(result.content, row.content ?? JSON.stringify(result.data));
  });
}

for (const row of LIST.arguments) {
  test(`a tool sees: ${row.name}`, async () => {
    const result = await call((args) => args, JSON.parse(row.arguments), row.schema);
    assert.deepEqual(result.data, row.seen);
  });
}

test("the data of a result is checked too", async () => {
  const result = await call(() => ({ content: "ok", data: { mean: NaN } }));
  assert.equal(result.content, "stats: returned Object, which JSON cannot hold: $.mean is NaN");
});

test("the values of an answer are checked too", async () => {
  const plugin = new Plugin("values");
  plugin.hook("pre_tool_call", { replaces: true }, () =>
    replace({ arguments: { limit: Infinity, at: new Date(0) } }),
  );
  await assert.rejects(
    async () => (await harness(plugin)).fire("pre_tool_call"),
    /replace\(\) has what JSON does not have: \$\.arguments\.limit is Infinity/,
  );
});
