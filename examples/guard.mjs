#!/usr/bin/env node
// A guard in JavaScript, without an SDK: no `rm -rf`. It reads by lines and splits at LF alone (node:readline also splits at U+2028).

const manifest = {
  protocol_version: 1,
  name: "guard-node", version: "1.0.0",
  description: "Keeps agents from deleting trees.",
  subscriptions: [{ event: "pre_tool_call", on_failure: "closed" }],
};

const requests = {
  initialize: () => manifest,
  "hook/pre_tool_call": (call) =>
    /\brm\s+-rf\b/.test(String(call.arguments.command ?? "")) ? { decision: "deny", reason: "deleting whole trees is not for agents" } : null,
  ping: () => null,
  shutdown: () => null,
};

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

function take({ id, method, params }) {
  if (method === "exit") process.exit(0);
  if (id === undefined) return; // a notification: an event, a cancel
  const handler = requests[method];
  if (method === "initialize" && !params.protocol_versions.includes(1))
    return send({ id, error: { code: -32602, message: "no common version: this plugin speaks 1" } });
  if (handler === undefined) return send({ id, error: { code: -32601, message: `unknown method ${method}` } });
  try {
    send({ id, result: handler(params) });
  } catch (error) {
    send({ id, error: { code: -32603, message: String(error) } });
  }
}

let rest = "";
process.stdin.setEncoding("utf8");
for await (const chunk of process.stdin) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) if (line.startsWith("{")) take(JSON.parse(line));
}
