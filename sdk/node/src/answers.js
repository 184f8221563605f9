// Answers to hooks: one function for each thing that an answer can say, joined by `and`.
//
//     return deny("deleting whole trees is not for agents");
//     return allow().and(context("this folder is a git checkout"));
//
// null, undefined or no answer at all abstains.

import { AnswerError } from "./errors.js";
import { hint } from "./nearest.js";
import { ANSWER_FIELDS } from "./protocol.js";

class Answer {
  constructor(fields) {
    Object.assign(this, fields);
    Object.freeze(this);
  }

  /** Both answers in one. Contexts add up, `replace` and `substitute` are joined; where both say the same thing it throws. */
  and(other) {
    const said = { ...this };
    for (const [name, theirs] of Object.entries(other)) {
      const ours = said[name];
      if (ours === undefined) said[name] = theirs;
      else if (name === "context") said[name] = [...ours, ...theirs];
      else if ((name === "replace" || name === "substitute") && !Object.keys(theirs).some((field) => field in ours)) said[name] = { ...ours, ...theirs };
      else throw new AnswerError(`both answers have ${name}`);
    }
    return new Answer(said);
  }
}

/** The plugin is for it. An opinion: it skips none of the agent's own rules. */
export const allow = (reason) => new Answer(reason === undefined ? { decision: "allow" } : { decision: "allow", reason });

/** It must not happen. The reason is for people and for the model. */
export const deny = (reason) => new Answer({ decision: "deny", reason });

/** A person shall decide. The reason is what they read. */
export const ask = (reason) => new Answer({ decision: "ask", reason });

/** Other values for fields of the payload, each put whole in the place of the old one; needs `replaces: true`. */
export const replace = (fields) => new Answer({ replace: fields });

/** What stands in for the call, which then does not happen; needs `replaces: true`. */
export const substitute = (fields) => new Answer({ substitute: fields });

/** Texts that the model shall read; the host labels them with the plugin's name. */
export const context = (...texts) => new Answer({ context: texts });

/** In `stop`: do not stop, go on with this as the next message. */
export const continueWith = (text) => new Answer({ continue_with: text });

/**
 * Check that an answer is allowed where it was given. Throws AnswerError; its message names what is.
 *
 * @param name the hook that was asked
 * @param entry the hook's row in the catalogue
 * @param answer what the handler returned
 * @param replaces the subscription says `replaces`
 */
export function checkAnswer(name, entry, answer, replaces) {
  if (typeof answer !== "object" || Array.isArray(answer)) {
    throw new AnswerError(`returned ${Array.isArray(answer) ? "an array" : typeof answer}; return nothing, or what allow(), deny() and the like make`);
  }
  const takes = () => `; ${name} takes ${allowed(entry) || "no answer"}`;
  for (const field of Object.keys(answer)) {
    if (!ANSWER_FIELDS.includes(field)) throw new AnswerError(`an answer has no field ${JSON.stringify(field)}${hint(field, ANSWER_FIELDS)}`);
  }
  const { decision, reason } = answer;
  if (decision != null && !entry.decisions.includes(decision)) throw new AnswerError(`${name} takes no ${decision}()${takes()}`);
  if (reason != null && typeof reason !== "string") throw new AnswerError(`the reason is ${typeof reason}, not a string`);
  if (answer.continue_with != null && !entry.continues) throw new AnswerError(`${name} takes no continueWith()${takes()}`);
  if (answer.continue_with != null && typeof answer.continue_with !== "string") throw new AnswerError("continueWith() takes a string");
  if (answer.context != null && !(Array.isArray(answer.context) && answer.context.every((text) => typeof text === "string"))) {
    throw new AnswerError("context() takes strings");
  }
  if (answer.context?.length && !entry.context) throw new AnswerError(`${name} takes no context()${takes()}`);
  for (const verb of ["replace", "substitute"]) {
    const fields = Object.keys(answer[verb] ?? {});
    const unknown = fields.find((field) => !entry[verb].includes(field));
    if (unknown !== undefined) throw new AnswerError(`${name} takes no ${verb}({ ${unknown} })${takes()}`);
    if (fields.length && !replaces) throw new AnswerError(`${verb}() needs { replaces: true } where the handler of ${name} is registered`);
  }
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
