// Which handlers a message is for, by the rules that the host uses to choose plugins.

/** The `match` of a subscription, as a function: true if all fields fit; null does not. */
export function matcher(match = {}) {
  const patterns = Object.entries(match).map(([field, globs]) => [field, pattern([globs].flat())]);
  return (payload) =>
    patterns.every(
      ([field, regex]) => typeof payload[field] === "string" && regex.test(payload[field]),
    );
}

function pattern(globs) {
  const alternatives = globs.map((glob) =>
    [...glob].map((char) => ({ "*": ".*", "?": "." })[char] ?? escaped(char)).join(""),
  );
  return new RegExp(`^(?:${alternatives.join("|")})$`, "su");
}

function escaped(char) {
  return /[\\^$.|?*+()[\]{}/]/.test(char) ? `\\${char}` : char;
}
