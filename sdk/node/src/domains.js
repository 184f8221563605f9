// The values that the string fields of payloads can have, and whether a pattern fits any of them.
// The same rules as `sliphook_sdk/protocol/patterns/domains.py`; a test holds both equal.

import { fitsAny } from "./matching.js";
import { CATALOGUE, LIMITS } from "./protocol.js";

/** True if the value is one of a domain. */
export function has({ words, chars, first, least = 0, most, holds = "", never = [] }, value) {
  if (words !== undefined) return words.includes(value);
  const text = [...value];
  return (
    text.length >= least &&
    text.length <= mostOf(most) &&
    (chars === undefined || text.every((char) => chars.includes(char))) &&
    (first === undefined || (text.length > 0 && first.includes(text[0]))) &&
    value.includes(holds) &&
    !never.includes(value)
  );
}

/** The largest number of characters of a domain; what is longer fits every pattern. */
export function mostOf(most) {
  return most ?? LIMITS.MAX_MATCHED_CHARS;
}

function fits(domain, glob) {
  const { words, chars, first, most, holds = "" } = domain;
  if (words !== undefined) return words.some((word) => fitsAny([[...glob]], word));
  if (!/[*?]/.test(glob)) return has(domain, glob);
  const given = [...glob.replaceAll("*", "")];
  const hasRoom = glob.includes("*") && given.length < mostOf(most);
  const begin = given[0] ?? "?";
  return (
    given.length <= mostOf(most) &&
    (chars === undefined || given.every((char) => char === "?" || chars.includes(char))) &&
    (first === undefined ||
      begin === "?" ||
      first.includes(begin) ||
      (hasRoom && glob[0] === "*")) &&
    (glob.includes(holds) || hasRoom || given.includes("?"))
  );
}

/** Why no value of a field can fit a pattern, as words after "which"; undefined if one can. */
export function whyNever(name, field, glob) {
  const { domains, are, foreign = [] } = CATALOGUE[name].strings[field];
  const [found] = foreign
    .filter((one) => glob.includes(one))
    .sort((one, other) => glob.indexOf(one) - glob.indexOf(other));
  if (found !== undefined)
    return (
      `has ${JSON.stringify(found)}, but patterns know \`*\` and \`?\` alone; ` +
      "several of them are a list, and `?` fits any one character"
    );
  if (domains.some((domain) => fits(domain, glob))) return undefined;
  if (are !== undefined) return `can fit nothing: ${field} is ${are}`;
  if (glob === "") return "is empty, and no name is";
  const limit = mostOf(domains[0].most).toLocaleString("en-US");
  return `has more than ${limit} characters; a value that is longer fits every pattern`;
}
