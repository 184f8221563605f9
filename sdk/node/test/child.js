// The host's side of one plugin process, by hand: frames over pipes, every wait bounded.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const PATIENCE_MS = 60_000;
const SDK = new URL("../src/index.js", import.meta.url).href;

const COMMON = {
  event_id: "e-1",
  seq: 1,
  time: "2026-01-01T00:00:00.000Z",
  session_id: "s-1",
  session_key: "main",
  platform: "cli",
  user_id: null,
  cwd: "/home/ada/project",
  turn_id: "t-1",
  agent_id: "a-1",
  parent_agent_id: null,
  agent_depth: 0,
  meta: null,
};

export const payload = (fields) => ({ ...COMMON, ...fields });
export const toolCall = (fields = {}) =>
  payload({
    call_id: "c-1",
    model_call_id: "call_1",
    tool_name: "shell",
    origin: "agent",
    timeout_s: 5,
    arguments: { command: "ls" },
    ...fields,
  });

/** A plugin whose code follows `const plugin = new Plugin("torture", OPTIONS);`. */
export class Child {
  replies = new Map();
  unasked = [];
  stray = "";
  stderr = "";
  #buffer = Buffer.alloc(0);
  #wake = () => {};
  #lastId = 0;

  constructor(code, { options = "{}", argv = [], pipes = false } = {}) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "sliphook-node-"));
    this.file = path.join(this.folder, "torture.mjs");
    const names =
      "Plugin, Tool, ToolError, allow, deny, ask, replace, substitute, context, continueWith";
    fs.writeFileSync(
      this.file,
      `import { ${names} } from ${JSON.stringify(SDK)};\nconst plugin = new Plugin("torture", ${options});\n${code}\nplugin.run();\n`,
    );
    // Node gives its children sockets as streams; under the host they are pipes, and a file
    const piped = [
      "sh",
      ["-c", 'cat | "$0" "$1" 2>err | cat; cat err >&2', process.execPath, this.file],
    ];
    const [command, args] = pipes ? piped : [process.execPath, [this.file, ...argv]];
    this.process = spawn(command, args, { cwd: this.folder });
    this.process.stdout.on("data", (data) => this.#take(data));
    this.process.stderr.on("data", (data) => {
      this.stderr += data;
      this.#wake();
    });
    this.process.on("close", () => this.#wake());
    this.process.stdin.on("error", () => {});
  }

  frame(message) {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return `Content-Length: ${Buffer.byteLength(body) + 1}\r\n\r\n${body}\n`;
  }

  request(method, params = {}) {
    this.#lastId += 1;
    this.process.stdin.write(this.frame({ id: this.#lastId, method, params }));
    return this.#lastId;
  }

  notify(method, params = {}) {
    this.process.stdin.write(this.frame({ method, params }));
  }

  /** The reply to a request. */
  async reply(id) {
    await this.until(() => this.replies.has(id), `no reply to ${id}`);
    return this.replies.get(id);
  }

  async ask(method, params) {
    const reply = await this.reply(this.request(method, params));
    if (reply.error) throw new Error(`${reply.error.code}: ${reply.error.message}`);
    return reply.result;
  }

  /** The first message with that method that the plugin sent unasked. */
  async said(method) {
    const find = () => this.unasked.findIndex((message) => message.method === method);
    await this.until(() => find() >= 0, `no ${method}`);
    return this.unasked.splice(find(), 1)[0];
  }

  initialize(plugin = {}) {
    return this.ask("initialize", {
      protocol_versions: [1],
      host: { name: "sliphook", version: "0.1.0" },
      plugin: { name: "torture", data_dir: this.folder, config: {}, ...plugin },
      events: [],
      sessions: [],
    });
  }

  /** The exit status. */
  async ended() {
    await this.until(
      () => this.process.exitCode !== null || this.process.signalCode !== null,
      "it does not end",
    );
    return this.process.exitCode ?? this.process.signalCode;
  }

  async until(done, what) {
    const deadline = performance.now() + PATIENCE_MS;
    while (!done()) {
      const left = deadline - performance.now();
      if (left <= 0)
        throw new Error(
          `${what}; unasked: ${JSON.stringify(this.unasked)}; stderr: ${this.stderr}; stray: ${this.stray}`,
        );
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, 50));
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  kill() {
    this.process.kill("SIGKILL");
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  #take(data) {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    for (;;) {
      const header = /^Content-Length: (\d+)\r\n\r\n/.exec(this.#buffer.toString("latin1", 0, 64));
      const end = header && header[0].length + Number(header[1]);
      if (!header || this.#buffer.length < end) break;
      const message = JSON.parse(this.#buffer.toString("utf8", header[0].length, end));
      this.#buffer = this.#buffer.subarray(end);
      if (message.method !== undefined) this.unasked.push(message);
      else if (this.replies.has(message.id)) this.stray += `two replies to ${message.id}`;
      else this.replies.set(message.id, message);
    }
    if (
      this.#buffer.length &&
      !"Content-Length: ".startsWith(this.#buffer.toString("latin1", 0, 16))
    )
      this.stray += this.#buffer.toString();
    this.#wake();
  }
}

/** Run `work` with a child that is killed at the end, and check that nothing but messages came. */
export async function withChild(code, options, work) {
  const child = new Child(code, options);
  try {
    await work(child);
    if (child.stray) throw new Error(`stray output: ${child.stray}`);
  } finally {
    child.kill();
  }
}
