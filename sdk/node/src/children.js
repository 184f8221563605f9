// Children that would inherit the protocol's streams get the log in their place.

import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

/**
 * From now on a child that is started with `stdio: "inherit"`, or with descriptor 0 or 1, has an
 * empty standard input, and its output goes to standard error. For streams that cannot be moved to
 * other descriptors: what such a child prints would stand between the protocol's messages, and what
 * it reads would be lost to the plugin.
 */
export function keepFromChildren() {
  const { spawn } = childProcess.ChildProcess.prototype;
  // spawn, exec, execFile and fork all come to this
  childProcess.ChildProcess.prototype.spawn = function (options) {
    return spawn.call(this, kept(options));
  };
  for (const name of ["spawnSync", "execFileSync", "execSync"]) {
    const original = childProcess[name];
    childProcess[name] = (...args) => original(...args.map(kept));
  }
  // for `import { spawnSync } from "node:child_process"`
  syncBuiltinESMExports();
}

function kept(options) {
  if (Array.isArray(options) || !options?.stdio) return options;
  const { stdio } = options;
  const streams = stdio === "inherit" ? ["inherit", "inherit", "inherit"] : stdio;
  return Array.isArray(streams) ? { ...options, stdio: streams.map(instead) } : options;
}

function instead(stream, index) {
  const descriptor = stream === "inherit" ? index : (stream?.fd ?? stream);
  if (descriptor === 0) return "ignore";
  return descriptor === 1 ? 2 : stream;
}
