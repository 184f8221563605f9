// Which of a plugin's handlers a message is for, by the rules that the host has chosen the plugin by.

/** The `match` of a subscription as a function of the payload: all fields must fit, null never does. */
export function matcher(match = {}) {
  const patterns = Object.entries(match).map(([field, globs]) => [field, pattern([globs].flat())]);
  return (payload) => patterns.every(([field, regex]) => typeof payload[field] === "string" && regex.test(payload[field]));
}

function pattern(globs) {
  const alternatives = globs.map((glob) => [...glob].map((char) => ({ "*": ".*", "?": "." })[char] ?? escaped(char)).join(""));
  return new RegExp(`^(?:${alternatives.join("|")})$`, "su");
}

function escaped(char) {
  return /[\\^$.|?*+()[\]{}/]/.test(char) ? `\\${char}` : char;
}
