// The exceptions of the SDK, and who is at fault.

/**
 * Something was registered wrongly; the author's fault. Thrown while the plugin is loaded; the
 * message begins with the file and the line.
 */
export class RegistrationError extends Error {
  name = "RegistrationError";
}

/** A handler returned what is not allowed; the author's fault. The message says what is allowed. */
export class AnswerError extends Error {
  name = "AnswerError";
}

/** Thrown by a tool or a command to fail: the model, or the user, reads the message. Nothing is logged. */
export class ToolError extends Error {
  name = "ToolError";
}

/**
 * The host answered a request of the plugin with an error. `code` is one of `ErrorCode`, or another
 * code of JSON-RPC.
 */
export class HostRefused extends Error {
  name = "HostRefused";

  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** A command of `ctx.run` cannot be started; the message says why, and what to do. */
export class CommandError extends Error {
  name = "CommandError";
}

/** A request to the host while it cannot be heard: before the plugin runs, or after its end. */
export class NotConnected extends Error {
  name = "NotConnected";
}

/** The error with which the plugin answers a request. */
export class RpcError extends Error {
  name = "RpcError";

  constructor(code, message, options) {
    super(message, options);
    this.code = code;
  }
}

/** An exception in one line, never empty. */
export function describe(error) {
  if (!(error instanceof Error))
    return `threw ${typeof error === "string" ? JSON.stringify(error) : textOf(error)}`;
  if (error instanceof AnswerError) return error.message;
  return error.message === "" ? textOf(error.name) : `${textOf(error.name)}: ${textOf(error.message)}`;
}

/** A value as text; its type if it cannot be one, such as an object without a prototype. */
function textOf(value) {
  try {
    return String(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}
