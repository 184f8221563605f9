// `ctx.run`: commands that end with their call.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import { CommandError, Plugin } from "../src/index.js";
import { KeptOutput, lastLine } from "../src/output.js";
import { harness } from "../src/testing.js";
import { payload, withChild } from "./child.js";

const PATIENCE_MS = 60_000;
const STUBBORN = `#!/bin/bash
trap '' TERM
set -m
sh -c 'trap "" TERM; echo $$ > other; sleep 1000' &
echo $$ > own
while :; do sleep 1000; done
`;

/** A folder for one test, removed at its end. */
async function inFolder(work) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "sliphook-node-")));
  try {
    await work(folder);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

async function made(cwd) {
  const plugin = new Plugin("runs");
  const seen = [];
  plugin.tool("run", async ({ args, options }, ctx) => {
    seen.push(await ctx.run(args, options).catch((error) => error));
    if (seen.at(-1) instanceof Error) throw seen.at(-1);
  });
  return [await harness(plugin, { cwd }), seen];
}

async function ran(cwd, args, options) {
  const [played, seen] = await made(cwd);
  await played.callTool("run", { args, options });
  return seen[0];
}

function pids(folder) {
  return ["own", "other"]
    .map((name) => path.join(folder, name))
    .filter((file) => fs.existsSync(file) && fs.readFileSync(file, "utf8").endsWith("\n"))
    .map((file) => Number(fs.readFileSync(file, "utf8")));
}

function lives(pid) {
  try {
    return !/\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function until(done) {
  const deadline = performance.now() + PATIENCE_MS;
  while (!done()) {
    assert.ok(performance.now() < deadline);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const linux = { skip: process.platform === "linux" ? false : "needs /proc" };

test("a command runs in the project", () =>
  inFolder(async (folder) => {
    assert.deepEqual(await ran(folder, ["sh", "-c", "pwd; echo no >&2; exit 3"]), {
      status: 3,
      stdout: `${folder}\n`,
      stderr: "no\n",
      timedOut: false,
      stdoutCut: false,
      stderrCut: false,
      ok: false,
    });
    assert.equal((await ran(folder, ["true"])).ok, true);
    assert.equal((await ran(folder, ["sh", "-c", "kill -9 $$"])).status, -9);
    fs.mkdirSync(path.join(folder, "sub"));
    const { stdout } = await ran(folder, ["sh", "-c", 'pwd; echo "$A $HOME"; cat'], {
      cwd: path.join(folder, "sub"),
      env: { A: "b" },
    });
    assert.equal(stdout, `${folder}/sub\nb ${process.env.HOME}\n`);
    assert.equal((await ran(folder, ["echo", "$HOME;", "*"])).stdout, "$HOME; *\n");
  }));

test("why it cannot be started", () =>
  inFolder(async (folder) => {
    const write = (name, text, mode) => fs.writeFileSync(path.join(folder, name), text, { mode });
    write("plain", "#!/bin/sh\n", 0o644);
    write("lost", "#!/no/such/shell -e\n", 0o755);
    for (const [program, why] of [
      ["no-such-command", `there is no command no-such-command in PATH, which is ${process.env.PATH}`],
      ["./none", `there is no program ${folder}/none`],
      ["./plain", `${folder}/plain is not executable: chmod +x ${folder}/plain`],
      ["./lost", `${folder}/lost cannot be started: what its first line names does not exist: #!/no/such/shell -e`],
      ["./", `${folder} is a folder, and no program`],
    ]) {
      const error = await ran(folder, [program]);
      assert.ok(error instanceof CommandError);
      assert.equal(error.message, why);
    }
    assert.match((await ran(folder, ["a\0b"])).message, /cannot be started: .*null bytes/);
    assert.equal((await ran(`${folder}/gone`, ["ls"])).message, `ls cannot run in ${folder}/gone: there is no such folder`);
    for (const wrong of ["make test", []])
      assert.match((await ran(folder, wrong)).message, /a shell is run\(\["sh", "-c", /);
  }));

test("output is kept from both ends", async () => {
  const kept = new KeptOutput(8);
  for (const part of ["abc", "defgh"]) kept.add(Buffer.from(part));
  assert.equal(kept.text(), "abcdefgh");
  for (let number = 0; number < 100; number += 1) kept.add(Buffer.from(String(number).padStart(3, "0")));
  assert.equal(kept.text(), "abcd\n[... 300 bytes are left out ...]\n8099");
  const accents = new KeptOutput(7);
  accents.add(Buffer.from("é".repeat(10)));
  assert.equal(accents.text(), "éé\n[... 13 bytes are left out ...]\né");
  const nothing = new KeptOutput(0);
  nothing.add(Buffer.from("abc"));
  assert.equal(nothing.text(), "\n[... 3 bytes are left out ...]\n");
  const much = await ran("/", [process.execPath, "-e", "console.log('x'.repeat(50_000_000) + 'end')"], { maxBytes: 1000 });
  assert.ok(much.stdout.endsWith("xend\n"));
  assert.match(much.stdout, /\n\[\.\.\. 49,999,004 bytes are left out \.\.\.\]\n/);
  assert.deepEqual([much.stdoutCut, much.stderrCut], [true, false]);
  const exactly = await ran("/", ["sh", "-c", "printf 12345678; printf 123456789 >&2"], { maxBytes: 8 });
  assert.deepEqual([exactly.stdoutCut, exactly.stderrCut], [false, true]);
});

test("the last line", () => {
  assert.equal(lastLine(Buffer.from("1\n 10 %\r 20 %\r\n\n \x1b[32m3 passed\x1b[0m\n\n")), "3 passed");
  assert.equal(lastLine(Buffer.from(" \n")), undefined);
  assert.equal(lastLine(Buffer.from("x".repeat(10_000))), "x".repeat(200));
});

test("progress tells the last line now and then", () =>
  inFolder(async (folder) => {
    const [played] = await made(folder);
    const script = "i=0; while [ ! -e go ]; do i=$((i+1)); echo line $i; done";
    const called = played.callTool("run", { args: ["sh", "-c", script] });
    await until(() => played.sent.length >= 2);
    fs.writeFileSync(path.join(folder, "go"), "");
    await called;
    assert.equal(played.sent[0].method, "$/progress");
    const lines = played.sent.map(({ params }) => params.message);
    assert.match(lines[0], /^\w/);
    assert.equal(new Set(lines).size, lines.length);
    assert.ok(lines.length < 100, "not each of the many lines");
  }));

const WORKS = `
  import fs from "node:fs";
  fs.writeFileSync("stubborn", ${JSON.stringify(STUBBORN)}, { mode: 0o755 });
  plugin.tool("work", async (args, ctx) => {
    await ctx.run(["./stubborn"], { cwd: "." }).catch((error) => ctx.log("info", error.name));
    ctx.signal.throwIfAborted();
  });
`;
const work = (child) =>
  child.request("tool/call", payload({ call_id: "c-1", name: "work", timeout_s: 60, arguments: {} }));

test("a cancel ends the whole tree", linux, () =>
  withChild(WORKS, {}, async (child) => {
    await child.initialize();
    const id = work(child);
    await until(() => pids(child.folder).length === 2);
    child.notify("$/cancelRequest", { id });
    assert.equal((await child.reply(id)).error.code, -32800);
    assert.deepEqual(pids(child.folder).filter(lives), []);
    assert.equal((await child.said("host/log")).params.message, "AbortError");
  }));

test("a time that is up is told", linux, () =>
  inFolder(async (folder) => {
    assert.deepEqual(await ran(folder, ["sleep", "1000"], { timeoutS: 0.1 }), {
      status: -15,
      stdout: "",
      stderr: "",
      timedOut: true,
      stdoutCut: false,
      stderrCut: false,
      ok: false,
    });
  }));

test("what it leaves behind ends too", linux, () =>
  inFolder(async (folder) => {
    const script =
      "sleep 1000 >/dev/null 2>&1 & echo $! > own; set -m; sh -c 'trap \"\" TERM; echo $$ > other; sleep 1000' & while [ ! -s other ]; do :; done";
    assert.equal((await ran(folder, ["bash", "-c", script])).ok, true);
    assert.equal(pids(folder).length, 2);
    assert.deepEqual(pids(folder).filter(lives), []);
  }));

for (const [how, finish] of [
  ["exit", (child) => child.notify("exit")],
  ["SIGTERM", (child) => child.process.kill("SIGTERM")],
])
  test(`the end of the plugin ends its commands: ${how}`, linux, () =>
    withChild(WORKS, {}, async (child) => {
      await child.initialize();
      work(child);
      await until(() => pids(child.folder).length === 2);
      const before = pids(child.folder);
      finish(child);
      await child.ended();
      await until(() => !before.some(lives));
    }));
