// The limits beyond which the host refuses a message, checked before it is sent.

import { LIMITS, MESSAGE_LIMITS } from "./protocol.js";

/**
 * Why a message cannot be sent, or undefined if it can.
 *
 * `method` is the message's; for a result that of the host's request, for an error reply "error".
 */
export function beyondLimits(json, method) {
  const limit =
    MESSAGE_LIMITS[method] ?? MESSAGE_LIMITS[method.startsWith("hook/") ? "hook" : "other"];
  const bytes = Buffer.byteLength(json) + 1; // the newline after the body counts too
  if (bytes > limit.max_bytes) return tooMuch(limit, bytes, "bytes", limit.max_bytes);
  // a small message passes no limit but that of nesting, and that only with so many brackets
  if (bytes <= LIMITS.UNWEIGHED_BYTES && count(json, /[[{]/g) <= LIMITS.MAX_DEPTH) return undefined;
  const outside = json
    .replaceAll("\\\\", "")
    .replaceAll('\\"', "")
    .split('"')
    .filter((part, index) => index % 2 === 0)
    .join('"');
  // each comma begins a value, each colon one more, each bracket too unless it is empty
  const values = 1 + count(outside, /[,:[{]/g) - count(outside, /\[\]|\{\}/g);
  if (values > limit.max_values) return tooMuch(limit, values, "values", limit.max_values);
  if (isTooDeep(outside)) return `it is nested over ${LIMITS.MAX_DEPTH} levels deep`;
  if (/[0-9.eE+-]{257}/.test(outside))
    return `it has a number of more than ${LIMITS.MAX_NUMBER_CHARS} characters`;
  // slow are longer ones, too, which JavaScript does not write
  if (count(outside, /[eE][+-]?[0-9]{3}/g) > LIMITS.MAX_SLOW_NUMBERS)
    return `it has more than ${LIMITS.MAX_SLOW_NUMBERS} numbers with an exponent of three digits`;
  return undefined;
}

function tooMuch(limit, found, things, most) {
  const shown = (number) => number.toLocaleString("en-US");
  return `it has ${shown(found)} ${things}, and ${limit.what} may have ${shown(most)}: ${limit.instead}`;
}

function count(text, pattern) {
  return text.match(pattern)?.length ?? 0;
}

function isTooDeep(outside) {
  let depth = 0;
  for (const [bracket] of outside.matchAll(/[[{}\]]/g)) {
    depth += bracket === "{" || bracket === "[" ? 1 : -1;
    if (depth > LIMITS.MAX_DEPTH) return true;
  }
  return false;
}
