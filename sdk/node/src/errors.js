// What the SDK throws, and whose fault each is.

/** The author's: something was registered wrongly. Thrown while the plugin is loaded; the message begins with the file and the line. */
export class RegistrationError extends Error {
  name = "RegistrationError";
}

/** The author's: a handler returned something that is not allowed there. The message names what is. */
export class AnswerError extends Error {
  name = "AnswerError";
}

/** A tool's own way to fail: the model reads the message as it is, and nothing is logged. */
export class ToolError extends Error {
  name = "ToolError";
}

/** The host did not do what the plugin asked for. `code` is one of `ErrorCode`, or another of JSON-RPC's. */
export class HostRefused extends Error {
  name = "HostRefused";

  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** What a request is answered with where it has no result. */
export class RpcError extends Error {
  name = "RpcError";

  constructor(code, message, options) {
    super(message, options);
    this.code = code;
  }
}

/** An exception in one line, never empty. */
export function describe(error) {
  if (!(error instanceof Error)) return `threw ${typeof error === "string" ? JSON.stringify(error) : String(error)}`;
  if (error instanceof AnswerError) return error.message;
  return error.message === "" ? error.name : `${error.name}: ${error.message}`;
}
