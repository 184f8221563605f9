// The host, as the other end of a stream of messages: requests both ways, each answered once.

import { inspect } from "node:util";

import { describe, HostRefused, NotConnected, RpcError } from "./errors.js";
import { frame } from "./framing.js";
import { beyondLimits } from "./limits.js";
import { ErrorCode } from "./protocol.js";

const LOG_CHARS = 10_000; // the message of a log line is cut to this if the line cannot be sent
const SHOWN_CHARS = 1_000; // so much of a value that JSON cannot hold

/** A message of the host while a handler works on it: a notification if `id` is undefined. */
export class Call {
  #controller;
  cancelled = false;
  cancelledAt = null; // on `performance.now()`

  constructor(id, method, params, traceparent) {
    this.id = id;
    this.method = method;
    this.params = params;
    this.traceparent = traceparent ?? null;
    this.arrived = performance.now();
  }

  /** Created at its first use: most handlers do not need it. */
  get signal() {
    this.#controller ??= new AbortController();
    if (this.cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  cancel() {
    this.cancelled = true;
    this.cancelledAt ??= performance.now();
    this.#controller?.abort();
  }
}

export class Peer {
  #write;
  #open = new Map(); // the host's requests that are not answered yet, by id
  #goesOn = new Set(); // of these the ids that were cancelled
  #asked = new Map(); // ours, by id
  #lastId = 0;
  #closed = false;

  /** @param write writes bytes to the host, whole and in order */
  constructor(write) {
    this.#write = write;
  }

  /** Take in one message. Replies and cancels are dealt with; a call for a handler is returned. */
  receive(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch (error) {
      this.log("error", `a message of the host is no JSON: ${error.message}`);
      return undefined;
    }
    const { id, method, params, traceparent } = message ?? {};
    if (typeof method !== "string") {
      this.#settle(message ?? {});
      return undefined;
    }
    if (method === "$/cancelRequest") {
      this.#cancel(params?.id);
      return undefined;
    }
    const call = new Call(id, method, params ?? {}, traceparent);
    if (id !== undefined) {
      this.#open.set(id, call);
      if (this.#goesOn.size) this.#sayItRuns(call);
    }
    return call;
  }

  /** Answer a request, once. */
  answer(call, result) {
    if (!this.#close(call)) return;
    let body;
    try {
      body = JSON.stringify({ jsonrpc: "2.0", id: call.id, result: result ?? null });
    } catch (error) {
      this.#refuse(
        call.id,
        ErrorCode.INTERNAL_ERROR,
        `the answer cannot be sent: ${describe(error)}`,
      );
      return;
    }
    const why = beyondLimits(body, call.method);
    if (why === undefined) this.#write(frame(wellFormed(body)));
    else this.#refuse(call.id, ErrorCode.INTERNAL_ERROR, `the answer cannot be sent: ${why}`);
  }

  /** Answer a request with an error; a cancelled one has stopped, whatever it threw. */
  refuse(call, error) {
    if (call.id === undefined) return;
    if (call.cancelled) error = new RpcError(ErrorCode.REQUEST_CANCELLED, "request cancelled");
    const code = error instanceof RpcError ? error.code : ErrorCode.INTERNAL_ERROR;
    if (this.#close(call))
      this.#refuse(call.id, code, error instanceof RpcError ? error.message : describe(error));
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  /**
   * Send a request; the promise resolves to its result. Throws HostRefused and NotConnected. When
   * `signal` aborts, the request is withdrawn, and the promise is rejected with the signal's reason.
   */
  ask(method, params, signal) {
    if (this.#closed) return Promise.reject(gone(method));
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#send({ id, method, params });
      const withdraw = () => {
        this.#asked.delete(id);
        this.notify("$/cancelRequest", { id });
        reject(signal.reason);
      };
      const first = (settle) => (value) => {
        signal?.removeEventListener("abort", withdraw);
        settle(value);
      };
      this.#asked.set(id, { method, resolve: first(resolve), reject: first(reject) });
      signal?.addEventListener("abort", withdraw, { once: true });
    });
  }

  /**
   * Write a line to the plugin's log; it throws nothing. A value that JSON cannot hold is written as
   * `util.inspect` shows it, and a line beyond the limits is cut.
   */
  log(level, message, fields) {
    let line = { level: text(level), message: text(message), fields };
    try {
      JSON.stringify(fields);
    } catch {
      line.fields = writable(fields);
    }
    const why = beyondLimits(
      JSON.stringify({ jsonrpc: "2.0", method: "host/log", params: line }),
      "host/log",
    );
    if (why !== undefined)
      line = {
        level: line.level.slice(0, LOG_CHARS),
        message: line.message.slice(0, LOG_CHARS),
        fields: { left_out: why },
      };
    this.notify("host/log", line);
  }

  /** The host has gone: the requests to it that are open are rejected, and so are new ones. */
  close() {
    this.#closed = true;
    for (const { method, reject } of this.#asked.values()) reject(gone(method));
    this.#asked.clear();
  }

  #cancel(id) {
    const call = this.#open.get(id);
    if (call === undefined) return; // unknown, or already answered
    // its handler runs, and the host takes the answer for the end of that: so it comes when the
    // handler comes back
    call.cancel();
    this.#goesOn.add(id);
    // of each method the newest: so the host sees that the handler holds none of them
    const others = [...this.#open.values()].filter((other) => !other.cancelled);
    for (const other of new Map(others.map((one) => [one.method, one])).values())
      this.#sayItRuns(other);
  }

  /** While a handler goes on after its cancel, say of others that they run beside it. */
  #sayItRuns(call) {
    if (call.method.includes("/")) this.notify("$/progress", { id: call.id }); // no ping
  }

  #close(call) {
    this.#goesOn.delete(call.id);
    return this.#open.delete(call.id);
  }

  #settle({ id, result, error }) {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    this.#asked.delete(id);
    if (error) asked.reject(new HostRefused(error.code, error.message));
    else asked.resolve(result);
  }

  #refuse(id, code, message) {
    const why = beyondLimits(
      JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }),
      "error",
    );
    this.#send({
      id,
      error: { code, message: why === undefined ? message : `the answer cannot be sent: ${why}` },
    });
  }

  #send(message) {
    const json = JSON.stringify({ jsonrpc: "2.0", ...message });
    const why = beyondLimits(json, message.method ?? "error");
    if (why !== undefined) throw new RangeError(`${message.method} cannot be sent: ${why}`);
    this.#write(frame(wellFormed(json)));
  }
}

function gone(method) {
  return new NotConnected(
    `${method} has no answer any more: the host has gone, and the plugin ends`,
  );
}

/** JSON without the escapes of lone surrogates, which the host does not accept. */
function wellFormed(json) {
  if (!json.includes("\\ud")) return json;
  return json.replace(/(?<=(?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "\ufffd");
}

const text = (value) => (typeof value === "string" ? value : shown(value));

/** The fields, each of which JSON can hold. */
function writable(fields) {
  try {
    return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, held(value)]));
  } catch {
    return { fields: shown(fields) };
  }
}

function held(value) {
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return shown(value);
  }
}

function shown(value) {
  try {
    return inspect(value, { breakLength: Infinity }).slice(0, SHOWN_CHARS);
  } catch {
    return `<${typeof value}>`; // its own way to be shown throws
  }
}
