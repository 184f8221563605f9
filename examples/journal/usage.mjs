/** What was used, as a plain table. */

const MOST_ROWS = 20;
const MOST_CHARS = 40;

/** @param {Record<string, any[]>} read as `READS` of schema.mjs has it @param {number} days */
export function usage(read, days) {
  const [turns] = read.turns;
  const lines = [
    `The last ${days === 1 ? "day" : `${days} days`}: ${many(turns.sessions, "session")}, ` +
      `${many(turns.turns, "turn")}, ${turns.interrupted} interrupted, ${turns.failed} failed`,
  ];
  lines.push(
    "",
    ...table(["MODEL", "CALLS", "INPUT", "CACHED", "OUTPUT", "COST"], modelRows(read.models)),
  );
  lines.push(
    "",
    ...table(
      ["TOOL", "CALLS", "FAILED", "DENIED", "CANCELLED", "SECONDS"],
      toolRows(read.tools),
    ),
  );
  const more = notes(read);
  return [...lines, ...(more.length ? ["", ...more] : [])].join("\n");
}

/** The rows of the models, with their sum at the end; null is what is not known. */
export function modelRows(models) {
  const rows = models.map((row) => [
    row.model,
    row.calls,
    row.input,
    row.cached,
    row.output,
    row.cost,
  ]);
  if (rows.length < 2) return rows;
  const sum = (at) =>
    rows.reduce((all, row) => (row[at] == null ? all : (all ?? 0) + row[at]), null);
  return [...rows, ["all", sum(1), sum(2), sum(3), sum(4), sum(5)]];
}

/** The rows of the tools. */
export function toolRows(tools) {
  return tools.map((row) => [
    row.tool,
    row.calls,
    row.failed,
    row.denied,
    row.cancelled,
    seconds(row.ms),
  ]);
}

/** What the numbers leave out, as sentences. */
export function notes(read) {
  const unpriced = read.models.filter((row) => row.unpriced).map((row) => printable(row.model));
  const failures = read.failures.map((row) => `${row.calls} ${printable(row.kind)}`);
  const [{ calls }] = read.unheard;
  return [
    ...(unpriced.length
      ? [`Not in the cost, as they have no price or no tokens: ${some(unpriced)}.`]
      : []),
    ...(failures.length ? [`Attempts of model calls that failed: ${some(failures)}.`] : []),
    ...(calls
      ? [`The journal was away in ${many(calls, "model call")}, which are not in these numbers.`]
      : []),
  ];
}

/** Of milliseconds, with a tenth. */
const seconds = (ms) => (ms === null ? null : Math.round(ms / 100) / 10);

/** Numbers for people: whole ones with thousands, others with parts of a cent. */
export function shown(value) {
  if (value === null) return "-";
  if (typeof value !== "number") return printable(value);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 });
}

/** A name that others chose, in one line of plain text. @param {any} text */
export function printable(text) {
  const plain = String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return plain.length > MOST_CHARS ? `${plain.slice(0, MOST_CHARS - 1)}…` : plain;
}

export function many(count, what) {
  return `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
}

function some(texts) {
  return texts.length > 5
    ? `${texts.slice(0, 5).join(", ")} and ${texts.length - 5} more`
    : texts.join(", ");
}

function table(heads, rows) {
  if (!rows.length) return [`${heads[0]}: none`];
  const cells = [heads, ...rows.slice(0, MOST_ROWS).map((row) => row.map(shown))];
  const widths = heads.map((_, at) => Math.max(...cells.map((row) => row[at].length)));
  const lines = cells.map((row) =>
    row.map((cell, at) => (at ? cell.padStart(widths[at]) : cell.padEnd(widths[at]))).join("  "),
  );
  return rows.length > MOST_ROWS ? [...lines, `and ${rows.length - MOST_ROWS} more`] : lines;
}
