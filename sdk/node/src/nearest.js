// The known name that is most likely meant by a misspelt one.

const ENOUGH = 0.6;
const LONGEST = 100; // a longer name is no misspelling of a known one

/**
 * The known name that is most similar to `name`, or undefined. Upper and lower case, `-` and `_`
 * make no difference.
 */
export function nearest(name, known) {
  if (name.length > LONGEST) return undefined;
  let best;
  let most = ENOUGH;
  for (const candidate of known) {
    const likeness =
      1 - distance(folded(name), folded(candidate)) / Math.max(name.length, candidate.length);
    if (likeness >= most) [best, most] = [candidate, likeness];
  }
  return best;
}

/** `; did you mean "x"?`, or nothing. */
export function hint(name, known) {
  const close = nearest(name, known);
  return close === undefined ? "" : `; did you mean ${JSON.stringify(close)}?`;
}

function folded(name) {
  return name
    .replace(/(?<=[a-z])[A-Z]/g, "_$&")
    .replaceAll("-", "_")
    .toLowerCase();
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}
