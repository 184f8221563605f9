// The standard streams of a plugin's process, so that nobody but the protocol writes to the host.

import fs from "node:fs";
import net from "node:net";

const BUSY = ["EAGAIN", "EWOULDBLOCK"];
const GONE = ["EPIPE", "ECONNRESET"];

/**
 * Move the protocol's streams out of everybody's reach. Descriptor 1 becomes standard error, the plugin's log, and descriptor 0 is
 * empty, for this process and its children: `console.log` and programs that the plugin starts touch no message.
 *
 * Node has no dup2. But a descriptor that is opened gets the lowest free number, so closing 1 and opening standard error puts it there.
 * Where a stream cannot be opened again (it is a socket), the process's own stdout is turned to standard error all the same.
 *
 * @returns {[import("node:stream").Readable, (bytes: Buffer) => void]} what reads from the host, and what writes to it
 */
export function takeOver() {
  let incoming = 0;
  let outgoing = 1;
  try {
    const [input, output, log] = [fs.openSync("/dev/fd/0", "r"), fs.openSync("/dev/fd/1", "w"), fs.openSync("/dev/fd/2", "a")];
    fs.closeSync(log); // all can be opened again, so nothing is closed in vain
    [incoming, outgoing] = [input, output];
    onto(0, "/dev/null", "r");
    onto(1, "/dev/fd/2", "a");
  } catch {
    process.stdout.write = process.stderr.write.bind(process.stderr);
  }
  const reader = fs.fstatSync(incoming).isFile() ? fs.createReadStream("", { fd: incoming }) : new net.Socket({ fd: incoming, readable: true, writable: false });
  return [reader, (bytes) => writeAll(outgoing, bytes)];
}

function onto(descriptor, path, flags) {
  fs.closeSync(descriptor);
  const opened = fs.openSync(path, flags);
  if (opened !== descriptor) throw new Error(`descriptor ${descriptor} is not free`);
}

/** Write all of it. Where the host is gone it is dropped: the end of standard input tells the rest. */
function writeAll(descriptor, bytes) {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += fs.writeSync(descriptor, bytes, at);
    } catch (error) {
      if (GONE.includes(error.code)) return;
      if (!BUSY.includes(error.code)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); // the pipe is full and does not block
    }
  }
}
