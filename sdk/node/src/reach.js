// Whether a subscription can be chosen at all, or stands behind another for ever.
// The same rules as `sliphook_sdk/protocol/patterns/reach.py`; a test holds both equal.

import { has, mostOf } from "./domains.js";
import { fitsAny } from "./matching.js";
import { CATALOGUE, LIMITS } from "./protocol.js";

/**
 * Which of some claims to one hook keeps the last of them from ever being chosen: its place, or
 * undefined if that one can be chosen, or if the patterns overlap in too many ways to tell (the host
 * then refuses a handler that fails closed). A claim is `{ match: { field: [glob, …] }, subagents }`; the
 * first that matches is chosen.
 */
export function inTheWay(name, claims) {
  try {
    return firstInTheWay(name, claims, new Budget());
  } catch (error) {
    if (error instanceof TooManySteps) return undefined;
    throw error;
  }
}

function firstInTheWay(name, claims, budget) {
  const { strings } = CATALOGUE[name];
  const claim = claims.at(-1);
  // for a child agent fewer others match, so that is the easier way to be chosen
  const rivals = [...claims.keys()]
    .slice(0, -1)
    .filter((number) => claims[number].subagents || !claim.subagents);
  // what may still match a payload that is chosen field by field; the fewer, the better
  let left = [new Set(rivals)];
  for (const field of new Set(rivals.flatMap((number) => Object.keys(claims[number].match)))) {
    const named = rivals.filter((number) => Object.hasOwn(claims[number].match, field));
    const others = rivals.filter((number) => !named.includes(number));
    const own = claim.match[field];
    const sets = named.map((number) => claims[number].match[field]);
    const fitting =
      own === undefined && strings[field].nullable
        ? [new Set()] // null fits none
        : fittingSets(strings[field], own ?? ["*"], sets, named, budget);
    left = least(
      left.flatMap((alive) =>
        fitting.map(
          (fit) => new Set([...alive].filter((one) => others.includes(one) || fit.has(one))),
        ),
      ),
      budget,
    );
    if (left[0].size === 0) return undefined;
  }
  return rivals.length ? Math.min(...left.map((alive) => Math.min(...alive))) : undefined;
}

class TooManySteps extends Error {}

class Budget {
  #left = LIMITS.MAX_REACH_STEPS;

  spend(steps) {
    this.#left -= steps;
    if (this.#left < 0) throw new TooManySteps();
  }
}

/** For values that fit `own`: which of the other sets of patterns fit too; the least such sets. */
function fittingSets({ domains }, own, sets, named, budget) {
  return least(
    domains.flatMap((domain) => fittingIn(domain, own, sets, named, budget)),
    budget,
  );
}

function fittingIn(domain, own, sets, named, budget) {
  const theirs = sets.map((globs) => globs.map((glob) => [...glob]));
  const fit = (value) => {
    // 32 characters of a text cost as much as a step
    budget.spend((1 + sets.length) * (1 + Math.floor(value.length / 32)));
    return new Set(named.filter((_, place) => fitsAny(theirs[place], value)));
  };
  if (domain.words !== undefined) {
    const mine = own.map((glob) => [...glob]);
    return domain.words.filter((word) => fitsAny(mine, word)).map(fit);
  }
  const held =
    domain.holds === undefined ? own : own.flatMap((glob) => holding(domain.holds, glob, budget));
  // usually the plainest values show it
  for (const glob of held) {
    for (const text of ["", "q"]) {
      const value = glob.replaceAll("*", text).replaceAll("?", "q");
      if (has(domain, value) && fit(value).size === 0) return [new Set()];
    }
  }
  return [...walk(domain, [held, ...sets], named, budget)];
}

/** Patterns that fit what the given one fits, as far as it has that character. */
function holding(char, glob, budget) {
  if (glob.includes(char)) return [glob];
  const found = [];
  for (let at = 0; at < glob.length; at++) {
    const replaced = { "*": `*${char}*`, "?": char }[glob[at]];
    if (replaced === undefined) continue;
    budget.spend(1 + Math.floor(glob.length / 32));
    found.push(glob.slice(0, at) + replaced + glob.slice(at + 1));
  }
  return found;
}

/** Run the automata of all patterns side by side over all values. */
function* walk({ chars, first, least: shortest = 0, most }, sets, named, budget) {
  const globs = sets.map((patterns) => patterns.map((glob) => [...glob]));
  const written = new Set(globs.flat(2));
  written.delete("*");
  written.delete("?");
  const inside = among(written, chars);
  const begins = first === undefined ? inside : among(written, first);
  const start = globs.map((patterns) =>
    settled(
      patterns.map((_, glob) => [glob, 0]),
      patterns,
      budget,
    ),
  );
  let layer = new Map([[JSON.stringify(start), start]]);
  const seen = new Set();
  for (let length = 0; layer.size; length++) {
    if (length >= shortest) {
      for (const [key, state] of layer) {
        seen.add(key);
        if (accepts(state[0], globs[0]))
          yield new Set(named.filter((_, place) => accepts(state[place + 1], globs[place + 1])));
      }
    }
    if (length === mostOf(most)) return;
    const following = new Map();
    for (const state of layer.values()) {
      for (const char of length === 0 ? begins : inside) {
        const mine = moved(state[0], globs[0], char, budget);
        if (!mine.length) continue;
        const next = [
          mine,
          ...state.slice(1).map((spots, at) => moved(spots, globs[at + 1], char, budget)),
        ];
        const key = JSON.stringify(next);
        if (!seen.has(key)) following.set(key, next);
      }
    }
    layer = following;
  }
}

/** The characters to try, of some or of all; undefined is each that no pattern names. */
function among(written, chars) {
  const found = [...written].filter((char) => chars === undefined || chars.includes(char));
  return found.length === chars?.length ? found : [...found, undefined];
}

/** Where the automaton of some patterns is after one more character. */
function moved(spots, patterns, char, budget) {
  budget.spend(1 + spots.length);
  const after = [];
  for (const [glob, at] of spots) {
    const expected = patterns[glob][at];
    if (expected === "*") after.push([glob, at]);
    else if (expected !== undefined && (expected === "?" || expected === char))
      after.push([glob, at + 1]);
  }
  return settled(after, patterns, budget);
}

/** With the places where `*` is left without a character; one that takes all makes up for the rest. */
function settled(spots, patterns, budget) {
  budget.spend(spots.length);
  const found = new Map();
  for (const [glob, start] of spots) {
    for (let at = start; ; at++) {
      const star = patterns[glob][at] === "*";
      if (star && patterns[glob].slice(at).every((char) => char === "*")) return [[glob, at]];
      found.set(`${glob} ${at}`, [glob, at]);
      if (!star) break;
    }
  }
  return [...found.values()].sort(([a, b], [c, d]) => a - c || b - d);
}

function accepts(spots, patterns) {
  return spots.some(([glob, at]) => patterns[glob].slice(at).every((char) => char === "*"));
}

/** The sets that contain none of the others, the smallest first. */
function least(sets, budget) {
  const kept = [];
  for (const one of [...sets].sort((a, b) => a.size - b.size)) {
    budget.spend(1 + kept.length);
    if (!kept.some((other) => [...other].every((number) => one.has(number)))) kept.push(one);
  }
  return kept;
}
