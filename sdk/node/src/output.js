// The begin and the end of what a command writes, and its last line.

const LINE_BYTES = 4096; // of what came last so much is looked at for the last line
const LINE_CHARS = 200;
// what colours a terminal, and moves its cursor
const STYLE = /\x1b\[[0-?]*[ -/]*[@-~]/g;

/** Keeps at most `maxBytes`: half from the begin, and half from the end. */
export class KeptOutput {
  #head = [];
  #tail = [];
  #room;
  #mostTail;
  #held = 0; // in the tail
  #dropped = 0;

  constructor(maxBytes) {
    this.#mostTail = Math.floor(maxBytes / 2);
    this.#room = maxBytes - this.#mostTail;
  }

  /** Take in what was read. */
  add(data) {
    const head = data.subarray(0, this.#room);
    const tail = data.subarray(head.length);
    if (head.length) this.#head.push(head);
    this.#room -= head.length;
    if (tail.length) this.#tail.push(tail);
    this.#held += tail.length;
    // whole pieces only: the rest is cut when the text is read
    while (this.#tail.length && this.#held - this.#tail[0].length >= this.#mostTail) {
      const piece = this.#tail.shift();
      this.#held -= piece.length;
      this.#dropped += piece.length;
    }
  }

  /** There was more than is kept. */
  get isCut() {
    return this.#dropped > 0 || this.#held > this.#mostTail;
  }

  /** What is kept, and in the middle how much is not. What is no UTF-8 is replaced. */
  text() {
    const cut = Math.max(0, this.#held - this.#mostTail);
    const dropped = this.#dropped + cut;
    const tail = Buffer.concat(this.#tail).subarray(cut);
    if (dropped === 0) return Buffer.concat([...this.#head, tail]).toString();
    // neither side ends in half a character
    const head = new TextDecoder().decode(Buffer.concat(this.#head), { stream: true });
    const whole = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
    return `${head}\n[... ${dropped.toLocaleString("en-US")} bytes are left out ...]\n${tail.subarray(whole < 0 ? tail.length : whole)}`;
  }
}

/** The last line with text in it, without colours; undefined if there is none. */
export function lastLine(data) {
  const text = data.subarray(-LINE_BYTES).toString().replace(STYLE, "");
  return text
    .split(/[\r\n]+/)
    .map((line) => line.trim().slice(0, LINE_CHARS))
    .findLast((line) => line !== "");
}
