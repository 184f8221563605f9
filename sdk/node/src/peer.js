// The host, as far as messages go: requests either way, each answered once.

import { describe, HostRefused, RpcError } from "./errors.js";
import { frame } from "./framing.js";
import { beyondLimits } from "./limits.js";
import { ErrorCode } from "./protocol.js";

const LOG_CHARS = 10_000; // what is kept of a line that cannot be sent whole

/** A message of the host on its way through a handler: a request, or a notification where `id` is undefined. */
export class Call {
  #controller;
  cancelled = false;

  constructor(id, method, params, traceparent) {
    this.id = id;
    this.method = method;
    this.params = params;
    this.traceparent = traceparent ?? null;
    this.arrived = performance.now();
  }

  /** Made when it is first asked for: most handlers never look. */
  get signal() {
    this.#controller ??= new AbortController();
    if (this.cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  cancel() {
    this.cancelled = true;
    this.#controller?.abort();
  }
}

export class Peer {
  #write;
  #open = new Map(); // the host's requests that are not answered yet, by id
  #asked = new Map(); // ours, by id
  #lastId = 0;

  /** @param write writes bytes to the host, whole and in order */
  constructor(write) {
    this.#write = write;
  }

  /** Take one message in. Replies and cancels are dealt with at once; a call for a handler is returned. */
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
    if (id !== undefined) this.#open.set(id, call);
    return call;
  }

  /** Answer a request, unless it was cancelled and so is answered already. */
  answer(call, result) {
    if (!this.#open.delete(call.id)) return;
    let body;
    try {
      body = JSON.stringify({ jsonrpc: "2.0", id: call.id, result: result ?? null });
    } catch (error) {
      this.#refuse(call.id, ErrorCode.INTERNAL_ERROR, `the answer cannot be sent: ${describe(error)}`);
      return;
    }
    const why = beyondLimits(body);
    if (why === undefined) this.#write(frame(wellFormed(body)));
    else this.#refuse(call.id, ErrorCode.INTERNAL_ERROR, `the answer cannot be sent: ${why}`);
  }

  /** Answer a request with an error. */
  refuse(call, error) {
    if (call.id === undefined) return;
    const code = error instanceof RpcError ? error.code : ErrorCode.INTERNAL_ERROR;
    if (this.#open.delete(call.id)) this.#refuse(call.id, code, error instanceof RpcError ? error.message : describe(error));
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  /** Send a request; the promise is kept with its result. Throws HostRefused. */
  ask(method, params) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#send({ id, method, params });
      this.#asked.set(id, { resolve, reject });
    });
  }

  /** Write a line to the plugin's log. What JSON or a message cannot hold is left out. */
  log(level, message, fields) {
    let held = fields;
    try {
      JSON.stringify(fields);
    } catch (error) {
      held = { fields: describe(error) };
    }
    const why = beyondLimits(JSON.stringify({ jsonrpc: "2.0", method: "host/log", params: { level, message, fields: held } }));
    this.notify("host/log", why === undefined ? { level, message, fields: held } : { level, message: `${message}`.slice(0, LOG_CHARS), fields: { left_out: why } });
  }

  /** The host is gone: whoever waits for it is told. */
  close() {
    for (const { reject } of this.#asked.values()) reject(new HostRefused(ErrorCode.INTERNAL_ERROR, "the host is gone"));
    this.#asked.clear();
  }

  #cancel(id) {
    const call = this.#open.get(id);
    if (call === undefined) return; // unknown, or the cancel has crossed the answer
    this.#open.delete(id);
    call.cancel();
    this.#refuse(id, ErrorCode.REQUEST_CANCELLED, "request cancelled");
  }

  #settle({ id, result, error }) {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    this.#asked.delete(id);
    if (error) asked.reject(new HostRefused(error.code, error.message));
    else asked.resolve(result);
  }

  #refuse(id, code, message) {
    const why = beyondLimits(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
    this.#send({ id, error: { code, message: why === undefined ? message : `the answer cannot be sent: ${why}` } });
  }

  #send(message) {
    const json = JSON.stringify({ jsonrpc: "2.0", ...message });
    const why = beyondLimits(json);
    if (why !== undefined) throw new RangeError(`${message.method} cannot be sent: ${why}`);
    this.#write(frame(wellFormed(json)));
  }
}

/** JSON without the escapes of lone surrogates, which are no text and which the host does not take. */
function wellFormed(json) {
  if (!json.includes("\\ud")) return json;
  return json.replace(/(?<=(?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "\ufffd");
}
