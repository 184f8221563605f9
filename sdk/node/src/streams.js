// The standard streams of a plugin's process: only the protocol may write to the host.

import fs from "node:fs";
import net from "node:net";

import { keepFromChildren } from "./children.js";

const BUSY = ["EAGAIN", "EWOULDBLOCK"];
const GONE = ["EPIPE", "ECONNRESET"];

/**
 * Move the protocol's streams to private descriptors. After that, for this process and its
 * children, descriptor 1 is standard error (the plugin's log) and descriptor 0 is empty. So neither
 * `console.log` nor a program that the plugin starts can damage a message.
 *
 * Node has no dup2. But opening gives the lowest free descriptor, so closing 1 and then opening
 * standard error puts it there. If a stream cannot be opened again, since it is a socket, the
 * descriptors stay: `process.stdout` is turned to standard error, and so is what children inherit.
 *
 * @returns {[import("node:stream").Readable, (bytes: Buffer) => void]} to read from, and to write
 */
export function takeOver() {
  let incoming = 0;
  let outgoing = 1;
  try {
    const [input, output, log] = [
      fs.openSync("/dev/fd/0", "r"),
      fs.openSync("/dev/fd/1", "w"),
      fs.openSync("/dev/fd/2", "a"),
    ];
    fs.closeSync(log); // it was opened only to find out that all three can be
    [incoming, outgoing] = [input, output];
    onto(0, "/dev/null", "r");
    onto(1, "/dev/fd/2", "a");
  } catch {
    process.stdout.write = process.stderr.write.bind(process.stderr); // `console` may hold it
    // what takes its descriptor writes there, and what ends it does not end the host's stream
    Object.defineProperty(process, "stdout", { configurable: true, get: () => process.stderr });
    keepFromChildren();
  }
  const reader = fs.fstatSync(incoming).isFile()
    ? fs.createReadStream("", { fd: incoming })
    : new net.Socket({ fd: incoming, readable: true, writable: false });
  return [reader, (bytes) => writeAll(outgoing, bytes)];
}

function onto(descriptor, path, flags) {
  fs.closeSync(descriptor);
  const opened = fs.openSync(path, flags);
  if (opened !== descriptor) throw new Error(`descriptor ${descriptor} is not free`);
}

/** Write all of `bytes`; if the host is gone, drop them. Then standard input ends too. */
function writeAll(descriptor, bytes) {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += fs.writeSync(descriptor, bytes, at);
    } catch (error) {
      if (GONE.includes(error.code)) return;
      if (!BUSY.includes(error.code)) throw error;
      // the pipe is full and does not block: sleep for 1 ms
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
