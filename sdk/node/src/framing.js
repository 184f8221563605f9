// Where one message of the host ends and the next begins. Bytes in, texts out; nothing here knows JSON.

const LF = 0x0a;
const BRACE = 0x7b; // {
const BLANK = new Set([0x20, 0x09, 0x0d, LF]);
const END_OF_HEADER = Buffer.from("\r\n\r\n");
const LONGEST_HEADER = 4096;

/** What came is no stream of messages, and where the next one begins cannot be known. The fault is the writer's. */
export class FramingError extends Error {
  name = "FramingError";
}

/** One message as it is written: the length counts bytes, the line feed included. */
export function frame(body) {
  return Buffer.from(`Content-Length: ${Buffer.byteLength(body) + 1}\r\n\r\n${body}\n`);
}

/**
 * Splits what the host writes. A line that starts with `{` is a message too, and blank space between messages is skipped: so an
 * author can type or paste messages.
 */
export class FrameSplitter {
  #pieces = []; // what was read and belongs to no message yet
  #size = 0;
  #need = 1; // below this many bytes there is nothing to find

  /** Take what was read and give the messages that are now complete, as texts. Throws FramingError. */
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

/** From where to where a line of JSON goes; beyond the buffer where its end has not come. */
function line(buffer, at) {
  const end = buffer.indexOf(LF, at);
  return [at, end < 0 ? buffer.length + 1 : end];
}

/** From where to where the body behind a header goes; beyond the buffer where it is not complete. */
function body(buffer, at) {
  const end = buffer.indexOf(END_OF_HEADER, at);
  const header = buffer.toString("latin1", at, end < 0 ? Math.min(buffer.length, at + LONGEST_HEADER) : end);
  if (end < 0 && header.length < LONGEST_HEADER && "Content-Length: ".startsWith(header.slice(0, 16))) return [at, buffer.length + 1];
  const length = /^Content-Length: (\d+)$/m.exec(header);
  if (end < 0 || length === null) throw new FramingError(`neither a Content-Length header nor a line of JSON: ${JSON.stringify(header.slice(0, 100))}`);
  const start = end + END_OF_HEADER.length;
  return [start, start + Number(length[1])];
}
