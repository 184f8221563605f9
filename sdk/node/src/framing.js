// Where a message of the host ends. Bytes in, texts out: nothing here decodes JSON.

const LF = 0x0a;
const BRACE = 0x7b; // {
const BLANK = new Set([0x20, 0x09, 0x0d, LF]);
const END_OF_HEADER = Buffer.from("\r\n\r\n");
const LONGEST_HEADER = 4096;

/**
 * The input is not a stream of messages, and the next message cannot be found. The writer is at
 * fault.
 */
export class FramingError extends Error {
  name = "FramingError";
}

/** One message as it is written. The length is in bytes and includes the line feed. */
export function frame(body) {
  return Buffer.from(`Content-Length: ${Buffer.byteLength(body) + 1}\r\n\r\n${body}\n`);
}

/**
 * Splits the host's bytes into messages. A line that starts with `{` is a message too, and white
 * space between messages is skipped, so that an author can type or paste messages.
 */
export class FrameSplitter {
  #pieces = []; // read, but not yet part of a complete message
  #size = 0;
  #need = 1; // bytes that the next message takes at least

  /** Take what was read, return the messages that are now complete. Throws FramingError. */
  feed(data) {
    this.#pieces.push(data);
    this.#size += data.length;
    if (this.#size < this.#need) return [];
    const buffer = this.#pieces.length === 1 ? data : Buffer.concat(this.#pieces);
    const texts = [];
    let at = 0;
    this.#need = 1;
    while (at < buffer.length) {
      if (BLANK.has(buffer[at])) {
        at += 1;
        continue;
      }
      const [start, end] = buffer[at] === BRACE ? line(buffer, at) : body(buffer, at);
      if (end > buffer.length) {
        this.#need = end - at;
        break;
      }
      texts.push(buffer.toString("utf8", start, end));
      at = end;
    }
    this.#pieces = at === buffer.length ? [] : [buffer.subarray(at)];
    this.#size = buffer.length - at;
    return texts;
  }
}

/** Start and end of a line of JSON; the end is beyond the buffer if it is not complete. */
function line(buffer, at) {
  const end = buffer.indexOf(LF, at);
  return [at, end < 0 ? buffer.length + 1 : end];
}

/** Start and end of the body after a header; the end is beyond the buffer if not complete. */
function body(buffer, at) {
  const end = buffer.indexOf(END_OF_HEADER, at);
  const header = buffer.toString(
    "latin1",
    at,
    end < 0 ? Math.min(buffer.length, at + LONGEST_HEADER) : end,
  );
  if (
    end < 0 &&
    header.length < LONGEST_HEADER &&
    "Content-Length: ".startsWith(header.slice(0, 16))
  )
    return [at, buffer.length + 1];
  const length = /^Content-Length: (\d+)$/m.exec(header);
  if (end < 0 || length === null)
    throw new FramingError(
      `neither a Content-Length header nor a line of JSON: ${JSON.stringify(header.slice(0, 100))}`,
    );
  const start = end + END_OF_HEADER.length;
  return [start, start + Number(length[1])];
}
