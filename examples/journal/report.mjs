/** What was used, as a page: one file that needs no other and no network, with a chart in SVG. */

import { many, modelRows, notes, seconds, shown } from "./usage.mjs";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [800, 280, 64, 28];
const MOST_BARS = 92; // of more days each bar is a week, a month and so on

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #8c959f; --read: #0a5fb4; --written: #d1762b }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --line: #7d8590; --read: #5aa5f0; --written: #f0a35a } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink); background: var(--paper) }
table { border-collapse: collapse; margin: 1rem 0; width: 100% }
caption { text-align: left; font-weight: 600 }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; font-weight: inherit }
svg { width: 100%; height: auto } svg text { fill: var(--ink); font-size: 12px }
.read { fill: var(--read) } .written { fill: var(--written) } .axis { stroke: var(--line) }`;

/** @param {Record<string, any[]>} read as `READS` of schema.mjs has it @param {number} days @param {Date} now */
export function page(read, days, now) {
  const [turns] = read.turns;
  const said = `${many(turns.sessions, "session")}, ${many(turns.turns, "turn")}, ${turns.interrupted} interrupted`;
  const bars = barsOf(read.days, days, now);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What agents have used</title>
<style>${STYLE}</style>
</head>
<body>
<h1>What agents have used</h1>
<p>The last ${days === 1 ? "day" : `${days} days`} before ${now.toISOString().slice(0, 16).replace("T", " ")} UTC: ${said}.</p>
${chart(bars)}
${table("Models", ["Model", "Calls", "Input", "Cached", "Output", "Cost"], modelRows(read.models))}
${table("Tools", ["Tool", "Calls", "Failed", "Denied", "Cancelled", "Seconds"], read.tools.map((row) =>
    [row.tool, row.calls, row.failed, row.denied, row.cancelled, seconds(row.ms)]))}
${table("Tokens by day", ["From", "Calls", "Input", "Output", "Cost"], bars.filter((bar) => bar.calls).map((bar) =>
    [bar.day, bar.calls, bar.input, bar.output, bar.cost]))}
${notes(read).map((note) => `<p>${escaped(note)}</p>`).join("\n")}
</body>
</html>
`;
}

/** A bar for each day, those without calls too; or for several days, if there would be too many. */
function barsOf(rows, days, now) {
  const width = Math.ceil(days / MOST_BARS);
  const count = Math.ceil(days / width);
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const bars = [];
  for (let at = count * width - 1; at >= 0; at--) {
    const date = new Date(now.getFullYear(), now.getMonth(), now.getDate() - at);
    const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
    if (at % width === width - 1) bars.push({ day, calls: 0, input: 0, output: 0, cost: null });
    const [bar, row] = [bars.at(-1), byDay.get(day)];
    if (!row) continue;
    bar.calls += row.calls;
    bar.input += row.input ?? 0;
    bar.output += row.output ?? 0;
    if (row.cost !== null) bar.cost = (bar.cost ?? 0) + row.cost;
  }
  return bars;
}

function chart(bars) {
  const top = nice(Math.max(1, ...bars.map((bar) => bar.input + bar.output)));
  const high = HEIGHT - BOTTOM - 12;
  const tall = (tokens) => (tokens / top) * high;
  const step = (WIDTH - LEFT) / bars.length;
  const every = Math.ceil(bars.length / 10);
  const ticks = [0, 0.5, 1].map((part) => {
    const y = (HEIGHT - BOTTOM - part * high).toFixed(1);
    return `<line class="axis" x1="${LEFT}" x2="${WIDTH}" y1="${y}" y2="${y}"/><text x="${LEFT - 8}" y="${y}" dy=".3em" text-anchor="end">${shown(part * top)}</text>`;
  });
  const drawn = bars.map((bar, at) => {
    const x = LEFT + at * step;
    const wide = Math.max(1, step * 0.8);
    const [read, written] = [tall(bar.input), tall(bar.output)];
    const box = (kind, y, tall) => `<rect class="${kind}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${wide.toFixed(1)}" height="${tall.toFixed(1)}"/>`;
    const base = HEIGHT - BOTTOM;
    const label = at % every ? "" : `<text x="${(x + wide / 2).toFixed(1)}" y="${HEIGHT - 8}" text-anchor="middle">${escaped(bar.day.slice(5))}</text>`;
    return `<g><title>${escaped(bar.day)}: ${shown(bar.input)} read, ${shown(bar.output)} written</title>${box("read", base - read, read)}${box("written", base - read - written, written)}${label}</g>`;
  });
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="chart-title chart-text">
<title id="chart-title">Tokens by day</title>
<desc id="chart-text">Bars of the tokens that models have read and written. The table “Tokens by day” has the same numbers.</desc>
${ticks.join("\n")}
${drawn.join("\n")}
</svg>
<p aria-hidden="true"><svg viewBox="0 0 12 12" style="width:.8em"><rect class="read" width="12" height="12"/></svg> read (below)
<svg viewBox="0 0 12 12" style="width:.8em"><rect class="written" width="12" height="12"/></svg> written (above)</p>`;
}

/** The next number from here on that begins with 1, 2 or 5 and ends with zeros. */
function nice(number) {
  const unit = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 5, 10].map((digit) => digit * unit).find((one) => one >= number) ?? number;
}

function table(caption, heads, rows) {
  const cells = rows.map((row) => `<tr><th scope="row">${escaped(shown(row[0]))}</th>${row.slice(1).map((cell) => `<td>${escaped(shown(cell))}</td>`).join("")}</tr>`);
  return `<table>
<caption>${caption}</caption>
<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead>
<tbody>
${cells.join("\n") || `<tr><td colspan="${heads.length}">none</td></tr>`}
</tbody>
</table>`;
}

/** A text of others, where HTML has a text or a value in double quotes. */
function escaped(text) {
  return String(text).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
