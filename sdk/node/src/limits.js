// The limits beyond which the host ends the connection, checked before a message is sent.

import { LIMITS } from "./protocol.js";

/** Why a message cannot be sent, or undefined if it can. */
export function beyondLimits(json) {
  const bytes = Buffer.byteLength(json) + 1; // the newline after the body counts too
  if (bytes > LIMITS.MAX_MESSAGE_BYTES) {
    const count = (number) => number.toLocaleString("en-US");
    return `it has ${count(bytes)} bytes, and a message may have ${count(LIMITS.MAX_MESSAGE_BYTES)}`;
  }
  return isTooDeep(json)
    ? `it is nested too deep, and a message may have ${LIMITS.MAX_DEPTH} levels`
    : undefined;
}

function isTooDeep(json) {
  // not more brackets, those in strings included, than levels
  if (json.split("{").length + json.split("[").length - 2 <= LIMITS.MAX_DEPTH) return false;
  const outside = json
    .replaceAll("\\\\", "")
    .replaceAll('\\"', "")
    .split('"')
    .filter((part, index) => index % 2 === 0);
  let depth = 0;
  for (const [bracket] of outside.join("").matchAll(/[[{}\]]/g)) {
    depth += bracket === "{" || bracket === "[" ? 1 : -1;
    if (depth > LIMITS.MAX_DEPTH) return true;
  }
  return false;
}
