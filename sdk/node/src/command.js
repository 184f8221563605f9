// Commands that handlers run with `ctx.run`: they end with their call, and with the plugin.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { CommandError } from "./errors.js";
import { KeptOutput, lastLine } from "./output.js";
import { MARK, Tree } from "./tree.js";

const TERM_GRACE_MS = 300; // how long a command has to end after SIGTERM; then it is killed
const KILL_MS = 2000; // how long the system may take to end a killed process
const TICK_MS = 30;
const PROGRESS_MS = 250;
const HEAD_BYTES = 128;

const running = new Set();
let lastMark = 0;

/**
 * Run a command to its end; then, or when it is to stop, end all that it has started.
 *
 * @param args the program and its arguments
 * @param options `cwd`, `env` beside the plugin's, `timeoutS`, `maxBytes` of each stream
 * @param signal aborted: the command is ended, and the signal's reason thrown
 * @param tell is given the last line of what it writes, a few times a second
 */
export async function runCommand(args, { cwd, env, timeoutS, maxBytes = 65_536 }, signal, tell) {
  if (!Array.isArray(args) || args.length === 0)
    throw new TypeError(
      `run() takes the program and its arguments, as in run(["git", "status"]); a shell is run(["sh", "-c", ${JSON.stringify(args?.length ? args : "")}])`,
    );
  signal.throwIfAborted();
  const mark = `${process.pid}-${++lastMark}`;
  const child = await started(args.map(String), cwd, { ...process.env, ...env, [MARK]: mark });
  const tree = new Tree(child.pid, mark);
  child.once("exit", () => tree.rootHasEnded());
  const closed = new Promise((resolve) => child.once("close", resolve));
  const [kept, stopTelling] = reading(child, maxBytes, tell);
  running.add(tree);
  const timedOut = await ending(child, signal, timeoutS);
  await end(tree);
  running.delete(tree);
  // those who hold the pipes and are out of reach are not waited for
  await Promise.race([closed, sleep(TERM_GRACE_MS)]);
  child.stdout.destroy();
  child.stderr.destroy();
  stopTelling();
  signal.throwIfAborted();
  const status = child.exitCode ?? -os.constants.signals[child.signalCode ?? "SIGKILL"];
  const [stdout, stderr] = kept.map((output) => output.text());
  const [stdoutCut, stderrCut] = kept.map((output) => output.isCut);
  return Object.freeze({ status, stdout, stderr, timedOut, stdoutCut, stderrCut, ok: status === 0 && !timedOut });
}

/** Resolves when the command has ended or is to: true if its time is up. */
async function ending(child, signal, timeoutS) {
  let timer;
  let abort;
  const timedOut = await new Promise((resolve) => {
    child.once("exit", () => resolve(false));
    abort = () => resolve(false);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    if (timeoutS !== undefined) timer = setTimeout(() => resolve(true), timeoutS * 1000);
  });
  clearTimeout(timer);
  signal.removeEventListener("abort", abort);
  return timedOut;
}

/** SIGTERM for all that is left of a command, and SIGKILL for those that stay. */
async function end(tree) {
  const killAt = performance.now() + TERM_GRACE_MS;
  let number = "SIGTERM";
  while ((await tree.signal(number)) && performance.now() < killAt + KILL_MS) {
    await sleep(TICK_MS);
    number = performance.now() >= killAt ? "SIGKILL" : 0;
  }
}

/** Read what the command writes: what is kept of both streams, and the end of the progress. */
function reading(child, maxBytes, tell) {
  let latest = Buffer.alloc(0);
  const kept = [child.stdout, child.stderr].map((stream) => {
    const output = new KeptOutput(maxBytes);
    stream.on("data", (data) => {
      output.add(data);
      latest = data;
    });
    return output;
  });
  const timer = setInterval(() => {
    const line = lastLine(latest);
    latest = Buffer.alloc(0);
    if (line !== undefined) tell(line);
  }, PROGRESS_MS);
  return [kept, () => clearInterval(timer)];
}

/** The child, when it runs. Not `detached`: in a session of its own the host would not find it. */
async function started([program, ...args], cwd, env) {
  try {
    return await new Promise((resolve, reject) => {
      const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
      child.once("spawn", () => resolve(child));
      child.once("error", reject);
    });
  } catch (error) {
    throw new CommandError(whyNotStarted(program, cwd ?? ".", env.PATH, error));
  }
}

/** Why a command cannot be started, and what to do. */
function whyNotStarted(program, cwd, folders, error) {
  if (!fs.statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    return `${program} cannot run in ${cwd}: there is no such folder`;
  if (error.syscall === undefined) return `${program} cannot be started: ${error.message}`;
  if (!program.includes("/"))
    return error.code === "ENOENT"
      ? `there is no command ${program} in PATH, which is ${folders}`
      : `${program} cannot be started: ${error.message}`;
  const file = path.resolve(cwd, program);
  const found = fs.statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return `there is no program ${file}`;
  if (found.isDirectory()) return `${file} is a folder, and no program`;
  if (error.code === "EACCES" && (found.mode & 0o111) === 0)
    return `${file} is not executable: chmod +x ${file}`;
  if (error.code === "ENOENT")
    return `${file} cannot be started: what its first line names does not exist: ${headOf(file)}`;
  return `${program} cannot be started: ${error.message}`;
}

function headOf(file) {
  try {
    return fs.readFileSync(file).subarray(0, HEAD_BYTES).toString().split("\n")[0];
  } catch {
    return "(it cannot be read)";
  }
}

// the plugin ends, and its commands with it
process.on("exit", () => {
  const killAt = performance.now() + TERM_GRACE_MS;
  let left = [...running].filter((tree) => tree.signalAtOnce("SIGTERM"));
  while (left.length && performance.now() < killAt) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TICK_MS);
    left = left.filter((tree) => tree.signalAtOnce(0));
  }
  for (const tree of left) tree.signalAtOnce("SIGKILL");
});
