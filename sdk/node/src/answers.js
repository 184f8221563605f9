// Answers to hooks: a function for each part of an answer; `and` joins answers.
//
//     return deny("deleting whole trees is not for agents");
//     return allow().and(context("this folder is a git checkout"));
//
// A handler that returns null or undefined abstains.

import { AnswerError } from "./errors.js";
import { hint } from "./nearest.js";
import { ANSWER_FIELDS } from "./protocol.js";

class Answer {
  constructor(fields) {
    Object.assign(this, fields);
    Object.freeze(this);
  }

  /**
   * Both answers in one. The lists of `context` are joined, and so are the fields of `replace` and
   * `substitute`. Throws AnswerError if both answers have the same field.
   */
  and(other) {
    const said = { ...this };
    for (const [name, theirs] of Object.entries(other)) {
      const ours = said[name];
      if (ours === undefined) said[name] = theirs;
      else if (name === "context") said[name] = [...ours, ...theirs];
      else if (
        (name === "replace" || name === "substitute") &&
        !Object.keys(theirs).some((field) => field in ours)
      )
        said[name] = { ...ours, ...theirs };
      else throw new AnswerError(`both answers have ${name}`);
    }
    return new Answer(said);
  }
}

/** The plugin is in favour. An opinion: all of the agent's own rules still apply. */
export const allow = (reason) =>
  new Answer(reason === undefined ? { decision: "allow" } : { decision: "allow", reason });

/** It must not happen. People and the model read the reason. */
export const deny = (reason) => new Answer({ decision: "deny", reason });

/** A person shall decide, and reads the reason. */
export const ask = (reason) => new Answer({ decision: "ask", reason });

/** New values for fields of the payload, each in place of the old. Needs `replaces: true`. */
export const replace = (fields) => new Answer({ replace: fields });

/** A result in place of the call, which then does not happen. Needs `replaces: true`. */
export const substitute = (fields) => new Answer({ substitute: fields });

/** Texts for the model; the host labels them with the plugin's name. */
export const context = (...texts) => new Answer({ context: texts });

/** In `stop`: the agent goes on, with this as the next message. */
export const continueWith = (text) => new Answer({ continue_with: text });

/**
 * The answer as it is written. Throws AnswerError if the hook does not allow it; the message says
 * what it allows.
 *
 * @param name the hook
 * @param entry the hook's row in the catalogue
 * @param returned what the handler returned
 * @param replaces the subscription has `replaces`
 */
export function checkedAnswer(name, entry, returned, replaces) {
  // read here, once: JSON leaves out what an object has from its class, and a deny would be lost
  const answer = fieldsOf(returned);
  if (answer === undefined) {
    throw new AnswerError(
      `returned ${kindOf(returned)}; return nothing, or what allow(), deny() and the like make`,
    );
  }
  const takes = () => `; ${name} takes ${allowed(entry) || "no answer"}`;
  for (const field of Object.keys(returned)) {
    if (!ANSWER_FIELDS.includes(field))
      throw new AnswerError(
        `an answer has no field ${JSON.stringify(field)}${hint(field, ANSWER_FIELDS)}`,
      );
  }
  const { decision, reason } = answer;
  if (decision != null && !entry.decisions.includes(decision))
    throw new AnswerError(`${name} takes no ${decision}()${takes()}`);
  if (reason != null && typeof reason !== "string")
    throw new AnswerError(`the reason is ${typeof reason}, not a string`);
  if (answer.continue_with != null && !entry.continues)
    throw new AnswerError(`${name} takes no continueWith()${takes()}`);
  if (answer.continue_with != null && typeof answer.continue_with !== "string")
    throw new AnswerError("continueWith() takes a string");
  if (
    answer.context != null &&
    !(Array.isArray(answer.context) && answer.context.every((text) => typeof text === "string"))
  ) {
    throw new AnswerError("context() takes strings");
  }
  if (answer.context?.length && !entry.context)
    throw new AnswerError(`${name} takes no context()${takes()}`);
  for (const verb of ["replace", "substitute"]) {
    const fields = Object.keys(answer[verb] ?? {});
    const unknown = fields.find((field) => !entry[verb].includes(field));
    if (unknown !== undefined)
      throw new AnswerError(`${name} takes no ${verb}({ ${unknown} })${takes()}`);
    if (fields.length && !replaces)
      throw new AnswerError(
        `${verb}() needs { replaces: true } where the handler of ${name} is registered`,
      );
  }
  return answer;
}

/** The fields that an object says as an answer; undefined if it is none, such as an Error. */
function fieldsOf(returned) {
  if (typeof returned !== "object" || Array.isArray(returned)) return undefined;
  const said = ANSWER_FIELDS.map((field) => [field, returned[field]]);
  const fields = said.filter(([, value]) => value !== undefined);
  const isPlain = [Object.prototype, Answer.prototype, null].includes(Object.getPrototypeOf(returned));
  return fields.length || isPlain ? new Answer(Object.fromEntries(fields)) : undefined;
}

function kindOf(returned) {
  if (typeof returned !== "object") return typeof returned;
  return Array.isArray(returned) ? "an array" : (returned.constructor?.name ?? "an object");
}

function allowed(entry) {
  return [
    ...entry.decisions.map((decision) => `${decision}()`),
    ...entry.replace.map((field) => `replace({ ${field} })`),
    ...entry.substitute.map((field) => `substitute({ ${field} })`),
    ...(entry.context ? ["context()"] : []),
    ...(entry.continues ? ["continueWith()"] : []),
  ].join(", ");
}
