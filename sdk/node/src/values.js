// Values of the author to JSON. What JSON does not have is an error with its path, and never null
// or `{}` without a word.

import { types } from "node:util";

import { AnswerError, describe } from "./errors.js";

/**
 * The value as JSON holds it. A Date is its ISO 8601 text, a Set an array, a Map with texts or
 * numbers as keys an object, bytes are base64, a BigInt is a number if that is exact. What has
 * `toJSON` is what that returns; a field that is undefined is left out.
 *
 * Throws AnswerError: `$.rows[2].mean is NaN`.
 */
export function plain(value) {
  return copy(value, "$", []);
}

function copy(value, path, around) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new AnswerError(`${path} is ${value}`);
      return value;
    case "bigint":
      if (!Number.isSafeInteger(Number(value)))
        throw new AnswerError(`${path} is a BigInt beyond what a number holds; give its text`);
      return Number(value);
    case "object":
      return value === null ? null : copyObject(value, path, around);
    default:
      throw new AnswerError(`${path} is ${typeof value === "undefined" ? "" : "a "}${typeof value}`);
  }
}

function copyObject(value, path, around) {
  if (around.includes(value)) throw new AnswerError(`${path} contains itself`);
  const within = [...around, value];
  const item = (part, step) => copy(part, `${path}${step}`, within);
  if (Array.isArray(value)) return Array.from(value, (part, index) => item(part, `[${index}]`));
  if (types.isSet(value)) return [...value].map((part, index) => item(part, `[${index}]`));
  if (types.isMap(value)) {
    const odd = [...value.keys()].find((key) => !["string", "number"].includes(typeof key));
    if (odd !== undefined) throw new AnswerError(`${path} has a key of type ${typeof odd}`);
    const names = [...value.keys()].map(String);
    if (new Set(names).size !== names.length) {
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      throw new AnswerError(`${path} has the key ${JSON.stringify(twice)} twice`);
    }
    return fields([...value], item);
  }
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (types.isDate(value) && Number.isNaN(value.getTime()))
    throw new AnswerError(`${path} is an invalid Date`);
  if (typeof value.toJSON === "function") return copy(called(value, path), path, within);
  if (types.isBoxedPrimitive(value)) return copy(value.valueOf(), path, within);
  const kind = opaque(value);
  if (kind !== undefined) throw new AnswerError(`${path} is ${kind}`);
  return fields(Object.entries(value), item);
}

function fields(entries, item) {
  const kept = entries.filter(([, part]) => part !== undefined);
  // defined and not assigned: a key may be `__proto__`
  return Object.fromEntries(kept.map(([key, part]) => [key, item(part, step(String(key)))]));
}

function called(value, path) {
  try {
    return value.toJSON();
  } catch (error) {
    throw new AnswerError(`${path} cannot be read: ${describe(error)}`);
  }
}

/** What an object is that would be `{}` in JSON, or undefined. */
function opaque(value) {
  if (types.isPromise(value)) return "a Promise: await it";
  if (types.isNativeError(value)) return "an Error: give its message";
  if (types.isRegExp(value)) return "a RegExp: give its source";
  if (types.isAnyArrayBuffer(value)) return "an ArrayBuffer: give a Uint8Array";
  if (types.isWeakMap(value) || types.isWeakSet(value)) return "a WeakMap or WeakSet";
  if (Symbol.iterator in value || Symbol.asyncIterator in value) return "an iterator: give an array";
  return undefined;
}

function step(key) {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
