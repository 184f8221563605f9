// A command and all that it has started: found and signalled.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { setImmediate as pause } from "node:timers/promises";

const SLICE = 50; // so many processes are looked at before other work of the plugin goes on

/** The variable by which a command's processes are found; each inherits it. */
export const MARK = "SLIPHOOK_COMMAND";

/**
 * The processes of a command. On Linux those whose parent has ended are found too, by the variable
 * that they inherit; elsewhere only those whose parents live.
 */
export class Tree {
  #root;
  #mark;
  #seen = new Map(); // by pid, when it was started: an id may be given again

  /**
   * @param root the id of the process
   * @param mark the value of MARK in its environment
   */
  constructor(root, mark) {
    this.#root = root;
    this.#mark = `${MARK}=${mark}`;
    const first = isLinux() ? statOf(root) : { started: "" };
    if (first !== undefined) this.#seen.set(root, first.started);
  }

  /** The root has been waited for: its id may be given to another process. */
  rootHasEnded() {
    this.#seen.delete(this.#root);
  }

  /** Send a signal to all that live; 0 only looks. True if there was one. */
  async signal(number) {
    const work = this.#signal(number);
    let step = work.next();
    for (; !step.done; step = work.next()) await pause();
    return step.value;
  }

  /** The same without a pause, for the end of the plugin. */
  signalAtOnce(number) {
    const work = this.#signal(number);
    let step = work.next();
    while (!step.done) step = work.next();
    return step.value;
  }

  *#signal(number) {
    const members = yield* this.#members();
    for (const pid of number === 0 ? [] : members) {
      try {
        process.kill(pid, number);
      } catch {
        // it has just ended, or has become another user's
      }
    }
    return members.length > 0;
  }

  *#members() {
    const running = isLinux() ? yield* processesOfSession() : processesByPs();
    const tree = new Set(
      running
        .filter(({ pid, started }) => this.#seen.get(pid) === started || this.#isMarked(pid))
        .map(({ pid }) => pid),
    );
    // in no order: until no parent is new
    for (let before = -1; before !== tree.size; ) {
      before = tree.size;
      for (const { pid, parent } of running) if (tree.has(parent)) tree.add(pid);
    }
    const members = running.filter(({ pid, isAlive }) => isAlive && tree.has(pid));
    for (const { pid, started } of members) this.#seen.set(pid, started);
    return members.map(({ pid }) => pid);
  }

  #isMarked(pid) {
    if (!isLinux()) return false;
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(this.#mark);
    } catch {
      return false; // it has ended, or is another user's
    }
  }
}

const isLinux = () => process.platform === "linux";

/** The plugin's session without the plugin: where the host finds them too. */
function* processesOfSession() {
  const { session } = statOf("self");
  const found = [];
  for (const [index, name] of fs.readdirSync("/proc").entries()) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const one = statOf(name);
    if (one?.session === session) found.push(one);
    if (index % SLICE === 0) yield;
  }
  return found;
}

/** One line of `/proc/PID/stat`; undefined if the process has ended. */
function statOf(name) {
  let line;
  try {
    line = fs.readFileSync(`/proc/${name}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // the name before it may have blanks and brackets of its own
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return {
    pid: Number(name),
    parent: Number(fields[1]),
    session: fields[3],
    started: fields[19],
    isAlive: !"ZX".includes(fields[0]),
  };
}

function processesByPs() {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" });
  return lines
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, state = "Z"]) => ({
      pid: Number(pid),
      parent: Number(parent),
      started: "",
      isAlive: !state.startsWith("Z"),
    }));
}
