/** What was used, as a page: one file that needs no other and no network, with a chart in SVG. */

import { STYLE } from "./style.mjs";
import { many, modelRows, notes, shown, toolRows } from "./usage.mjs";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [800, 280, 64, 28];
const MOST_BARS = 92; // of more days each bar is a week, a month and so on

/**
 * @param {Record<string, any[]>} read as `READS` of schema.mjs has it
 * @param {number} days
 * @param {Date} now
 */
export function page(read, days, now) {
  const [turns] = read.turns;
  const when = now.toISOString().slice(0, 16).replace("T", " ");
  const said =
    `The last ${days === 1 ? "day" : `${days} days`} before ${when} UTC: ` +
    `${many(turns.sessions, "session")}, ${many(turns.turns, "turn")}, ` +
    `${turns.interrupted} interrupted, ${turns.failed} failed.`;
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
<p>${said}</p>
${chart(bars)}
${table("Models", ["Model", "Calls", "Input", "Cached", "Output", "Cost"], modelRows(read.models))}
${table(
  "Tools",
  ["Tool", "Calls", "Failed", "Denied", "Cancelled", "Seconds"],
  toolRows(read.tools),
)}
${table(
  "Tokens by day",
  ["From", "Calls", "Input", "Output", "Cost"],
  bars
    .filter((bar) => bar.calls)
    .map((bar) => [bar.day, bar.calls, bar.input, bar.output, bar.cost]),
)}
${notes(read)
  .map((note) => `<p>${escaped(note)}</p>`)
  .join("\n")}
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
    const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
      .map((part) => String(part).padStart(2, "0"))
      .join("-");
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
  const base = HEIGHT - BOTTOM;
  const text = (x, y, anchor, said) =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(said)}</text>`;
  const box = (kind, x, y, tall) =>
    `<rect class="${kind}" x="${x.toFixed(1)}" y="${y.toFixed(1)}"` +
    ` width="${Math.max(1, step * 0.8).toFixed(1)}" height="${tall.toFixed(1)}"/>`;
  const ticks = [0, 0.5, 1].map((part) => {
    const y = base - part * high;
    const line = `<line class="axis" x1="${LEFT}" x2="${WIDTH}" y1="${y}" y2="${y}"/>`;
    return line + text(LEFT - 8, y + 4, "end", shown(part * top));
  });
  const drawn = bars.map((bar, at) => {
    const x = LEFT + at * step;
    const [read, written] = [tall(bar.input), tall(bar.output)];
    const said = `${bar.day}: ${shown(bar.input)} read, ${shown(bar.output)} written`;
    return `<g><title>${escaped(said)}</title>
${box("read", x, base - read, read)}${box("written", x, base - read - written, written)}
${at % every ? "" : text(x + step * 0.4, HEIGHT - 8, "middle", bar.day.slice(5))}</g>`;
  });
  const described = "Bars of the tokens that models have read and written.";
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="chart-title chart-text">
<title id="chart-title">Tokens by day</title>
<desc id="chart-text">${described} The table “Tokens by day” has the same numbers.</desc>
${ticks.join("\n")}
${drawn.join("\n")}
</svg>
<p aria-hidden="true">${sample("read")} read (below) ${sample("written")} written (above)</p>`;
}

/** A square of the colour of a kind of bar. */
function sample(kind) {
  const box = `<rect class="${kind}" width="9" height="9"/>`;
  return `<svg viewBox="0 0 9 9" style="width:.8em">${box}</svg>`;
}

/** The next number from here on that begins with 1, 2 or 5 and ends with zeros. */
function nice(number) {
  const unit = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 5, 10].map((digit) => digit * unit).find((one) => one >= number) ?? number;
}

function table(caption, heads, rows) {
  const cells = rows.map(
    (row) =>
      `<tr><th scope="row">${escaped(shown(row[0]))}</th>${row
        .slice(1)
        .map((cell) => `<td>${escaped(shown(cell))}</td>`)
        .join("")}</tr>`,
  );
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
