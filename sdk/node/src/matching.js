// Which handlers a message is for, by the rules that the host uses to choose plugins.

import { LIMITS, NULL_FITS } from "./protocol.js";

/**
 * The `match` of a subscription, as a function: true if all fields fit. Null does not, except in the
 * fields of NULL_FITS.
 */
export function matcher(match = {}) {
  const patterns = Object.entries(match).map(([field, globs]) => [
    field,
    [globs].flat().map((glob) => [...glob]),
  ]);
  return (payload) =>
    patterns.every(([field, globs]) =>
      typeof payload[field] === "string" ? fitsAny(globs, payload[field]) : NULL_FITS.includes(field),
    );
}

/** Whether a text fits any of the patterns. */
export function fitsAny(globs, value) {
  const text = [...value];
  return text.length > LIMITS.MAX_MATCHED_CHARS || globs.some((glob) => fits(glob, text));
}

/**
 * `*` is any text, `?` any character. After a mismatch only the last star is tried again, one
 * character further: no pattern takes longer than its length times the length of the text.
 */
function fits(glob, text) {
  let at = 0;
  let star = -1;
  let tried = 0;
  let index = 0;
  while (index < text.length) {
    if (glob[at] === "*") {
      star = at++;
      tried = index;
    } else if (glob[at] === "?" || glob[at] === text[index]) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++tried;
    } else {
      return false;
    }
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}
