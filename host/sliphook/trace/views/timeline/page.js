"use strict";
// Draws the picture in #data into #chart, anew at every move: only what can be told apart at the present zoom becomes an element.
// What a plugin has said goes into the page as text alone, never as markup.

const picture = JSON.parse(document.getElementById("data").textContent);
const chart = document.getElementById("chart");
const panel = document.getElementById("panel");

const LEFT = 168, RIGHT = 28, PAD = 9, LEAST_TRACK = 44, CHAR = 6, BOLD = 6.7, LEAST = 3, CROWD = 12;
const HEIGHTS = { bars: 20, thin: 12, marks: 14 };
const GRAVITY = { death: 6, failed: 5, wrong: 5, lost: 5, deny: 4, ask: 3, told: 3, cancelled: 2 };

const FLAG_ROW = 19, FLAG_ROWS = Math.max(1, Math.min(3, picture.flags.length)), TOP = 58 + FLAG_ROW * (FLAG_ROWS - 1);

const stretches = picture.scale.stretches;
const last = stretches[stretches.length - 1];
const length = Math.max(last.shown_ms + last.end_ms - last.begin_ms, 1e-3);
const view = { from: 0, to: length };
let width = 0, held = false, queued = false;

function make(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

const perMs = () => (width - LEFT - RIGHT) / (view.to - view.from);
const place = (ms) => LEFT + (ms - view.from) * perMs();
const cut = (text, room, char) => {
  const fitting = Math.floor(room / char);
  return text.length <= fitting ? text : fitting > 3 ? text.slice(0, fitting - 1) + "…" : "";
};

function shown(ms) {
  let here = stretches[0];
  for (const one of stretches) if (one.begin_ms <= ms) here = one;
  return here.shown_ms + Math.min(ms, here.end_ms) - here.begin_ms;
}

function duration(ms) {
  if (ms < 9.995) return ms.toFixed(2) + " ms";
  if (ms < 99.95) return ms.toFixed(1) + " ms";
  return ms < 999.5 ? ms.toFixed(0) + " ms" : (ms / 1000).toFixed(2) + " s";
}

function step(least) {
  if (least > 30000) return [6e4, 12e4, 3e5, 6e5, 18e5, 36e5].find((one) => one >= least) || 36e5 * Math.ceil(least / 36e5);
  for (let size = 1e-3; ; size *= 10) for (const factor of [1, 2, 5]) if (size * factor >= least) return size * factor;
}

function tickLabel(ms, size) {
  if (size >= 6e4) {
    const minutes = Math.round(ms / 6e4);
    return minutes >= 60 ? `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")} h` : `${minutes} min`;
  }
  if (size >= 1) return (ms / 1000).toFixed(Math.max(0, 3 - Math.floor(Math.log10(size) + 1e-9))) + " s";
  return ms.toFixed(3) + " ms";
}

function merged(items) {
  // What overlaps, and narrow ones that would touch, become one, with the colour of the worst.
  const found = [];
  let near = [], drawnTo = 0, ends = 0, narrow = true;
  for (const item of items) {
    const x = place(item[0]), wide = (item[1] - item[0]) * perMs();
    if (x + wide < LEFT - 400 || x > width + 10) continue;
    const small = narrow && wide <= 2 * LEAST && x < drawnTo + 1;
    const joins = x < ends - 0.5 || (small && near.length && x < place(near[0][0]) + CROWD);
    if (near.length && !joins) {
      found.push(near);
      near = [];
    }
    narrow = wide <= 2 * LEAST && (narrow || !near.length);
    ends = Math.max(x + wide, near.length ? ends : -Infinity);
    drawnTo = Math.max(x + LEAST, ends);
    near.push(item);
  }
  if (near.length) found.push(near);
  return found.map((group) => {
    const x = place(group[0][0]), end = group.reduce((most, item) => Math.max(most, item[1]), group[0][1]);
    const gravity = (item) => GRAVITY[item[2].split(" ").pop()] || 0;
    const worst = group.reduce((a, b) => (gravity(b) > gravity(a) ? b : a));
    const label = group.length === 1 ? group[0][3] : `${group.length} ×`;
    return { group, x, wide: Math.max(LEAST, (end - group[0][0]) * perMs()), style: worst[2], label };
  });
}

function glyph(parent, style, x, y) {
  const paths = {
    event: `M${x},${y - 4} l4,4 l-4,4 l-4,-4 z`,
    cancel: `M${x - 3.5},${y - 3.5} h7 v7 h-7 z`,
    death: `M${x - 4},${y - 4} l8,8 m0,-8 l-8,8`,
    wrong: `M${x},${y - 5} l5,9 h-10 z`,
    lost: `M${x},${y - 5} l5,9 h-10 z`,
  };
  if (paths[style]) make(parent, "path", { class: style, d: paths[style] });
  else make(parent, "circle", { class: style, cx: x, cy: y, r: 3 });
}

function drawRow(parent, row, y) {
  const bars = row.shape !== "marks", all = merged(row.items);
  all.forEach((one, index) => {
    const end = one.x + one.wide;
    if (end < LEFT) return;
    const x = Math.max(one.x, LEFT - 4), wide = end - x;
    const group = make(parent, "g", { class: "item" });
    group.shows = one;
    if (bars) make(group, "rect", { class: one.style, x, y, width: wide, height: row.shape === "thin" ? 6 : 15, rx: Math.min(3, wide / 2) });
    else glyph(group, one.style, one.x, y + 5);
    const room = (index + 1 < all.length ? all[index + 1].x : width) - x, needed = one.label.length * CHAR;
    const written = one.style === "protocol good" ? "label" : "label on";
    if (row.shape === "bars" && one.label.length * BOLD + 8 <= wide) make(group, "text", { class: written, x: x + 5, y: y + 11.5 }, one.label);
    else if (wide < 60 && needed + 4 <= room - wide - 6)
      make(group, "text", { class: one.style === "death" ? "why" : "label", x: x + Math.max(wide, 6) + 4, y: y + (bars ? 11.5 : 9) }, one.label);
    else if (one.style === "death") make(group, "text", { class: "why", x: x - 8, y: y + 9, "text-anchor": "end" }, one.label);
    else if (row.shape === "bars" && wide > 40) make(group, "text", { class: written, x: x + 5, y: y + 11.5 }, cut(one.label, wide - 8, BOLD));
  });
}

function drawBand(parent, band, y, tall) {
  const begin = place(band.begin), ready = place(band.ready), end = place(band.end);
  const group = make(parent, "g", { class: "item" });
  group.shows = { group: [[band.begin, band.end, "", "", band.lines, null]] };
  make(group, "rect", { class: "band starting", x: begin, y: y + 3, width: Math.max(1, ready - begin), height: tall - 6, rx: 3 });
  make(group, "rect", { class: "band", x: ready, y: y + 3, width: Math.max(0.5, end - ready), height: tall - 6, rx: 3 });
}

function draw() {
  queued = false;
  width = chart.clientWidth;
  const heights = picture.tracks.map((track) => Math.max(LEAST_TRACK, 2 * PAD + track.rows.reduce((sum, row) => sum + HEIGHTS[row.shape], 0)));
  const bottom = TOP + heights.reduce((a, b) => a + b, 0), height = bottom + 12;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  const clip = make(make(svg, "defs", {}), "clipPath", { id: "plot" });
  make(clip, "rect", { x: LEFT - 20, y: 0, width: width - LEFT + 20, height });
  const plot = make(svg, "g", { "clip-path": "url(#plot)" });
  for (const [begin, end] of picture.turns)
    make(plot, "rect", { class: "shade", x: place(begin), y: TOP, width: Math.max(1, place(end) - place(begin)), height: bottom - TOP });
  stretches.slice(1).forEach((after, index) => {
    const before = stretches[index], begin = before.shown_ms + before.end_ms - before.begin_ms;
    const group = make(plot, "g", { class: "item" });
    group.shows = { group: [[begin, after.shown_ms, "", "", [`nothing happens for ${duration(after.begin_ms - before.end_ms)}`], null]] };
    make(group, "rect", { class: "pause", x: place(begin), y: TOP, width: place(after.shown_ms) - place(begin), height: bottom - TOP });
  });
  drawTicks(plot, bottom);
  let y = TOP;
  picture.tracks.forEach((track, index) => {
    make(svg, "line", { class: "line", x1: 0, x2: width, y1: y, y2: y });
    make(svg, "text", { class: "name", x: 20, y: y + 21 }, cut(track.name, LEFT - 28, 7.4));
    make(svg, "text", { class: "note", x: 20, y: y + 36 }, cut(track.note, LEFT - 24, 5.4));
    for (const band of track.bands) if (place(band.end) > LEFT && place(band.begin) < width) drawBand(plot, band, y, heights[index]);
    let at = y + PAD;
    for (const row of track.rows) {
      drawRow(plot, row, at);
      at += HEIGHTS[row.shape];
    }
    y += heights[index];
  });
  make(svg, "line", { class: "line", x1: 0, x2: width, y1: y, y2: y });
  drawFlags(plot, bottom);
  chart.replaceChildren(svg);
}

function drawFlags(plot, bottom) {
  // Each label stands in the first row where it meets no other; where there is none, the line says it when pointed at.
  const free = new Array(FLAG_ROWS).fill(LEFT - 1), labels = [];
  let lineFrom = LEFT - 1;
  for (const flag of [...picture.flags].sort((a, b) => a.at - b.at)) {
    const x = place(flag.at), wide = flag.label.length * BOLD + 14, left = Math.min(x, width - wide - 4);
    if (x < lineFrom || x > width) continue;
    lineFrom = x + LEAST;
    const row = free.findIndex((from) => left >= from), top = 6 + FLAG_ROW * Math.max(0, row);
    const group = make(plot, "g", { class: "item" });
    group.shows = { group: [[flag.at, flag.at, "", "", [flag.label], null]] };
    make(group, "line", { class: "flag", x1: x, x2: x, y1: top + 12, y2: bottom });
    if (row < 0) continue;
    free[row] = left + wide + 4;
    labels.push([flag.label, left, top, wide]);
  }
  for (const [label, x, y, wide] of labels) { // no line goes through a label
    make(plot, "rect", { class: "flag-box", x, y, width: wide, height: 17, rx: 3 });
    make(plot, "text", { class: "flag-text", x: x + 7, y: y + 12 }, label);
  }
}

function drawTicks(plot, bottom) {
  const size = step((view.to - view.from) / Math.max(2, (width - LEFT) / 100));
  let free = 0;
  for (const one of stretches) {
    const first = Math.max(one.begin_ms, one.begin_ms + view.from - one.shown_ms);
    const end = Math.min(one.end_ms, one.begin_ms + view.to - one.shown_ms);
    const begin = Math.ceil(first / size) * size;
    for (let number = 0; number < 200 && begin + number * size <= end; number += 1) {
      const at = begin + number * size, x = place(shown(at)), label = tickLabel(at, size);
      make(plot, "line", { class: "grid", x1: x, x2: x, y1: TOP - 6, y2: bottom });
      if (x >= free) {
        make(plot, "text", { class: "tick", x, y: TOP - 11, "text-anchor": "middle" }, label);
        free = x + CHAR * (label.length + 2);
      }
    }
  }
}

function redraw() {
  if (!queued) requestAnimationFrame(draw);
  queued = true;
}

function look(from, to) {
  const wide = Math.min(length, Math.max(length * 1e-7, 1e-4, to - from));
  view.from = Math.min(Math.max(0, from), length - wide);
  view.to = view.from + wide;
  redraw();
}

function zoom(factor, at) {
  const middle = at === undefined ? (view.from + view.to) / 2 : at;
  look(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}

function line(style, text, name = "p") {
  const element = document.createElement(name);
  element.className = style;
  element.textContent = text;
  panel.append(element);
}

function pretty(text) {
  try {
    return text.slice(0, 2) + JSON.stringify(JSON.parse(text.slice(2)), null, 2);
  } catch {
    return text;
  }
}

function tell(one) {
  panel.replaceChildren();
  if (one.group.length > 1) {
    const counts = new Map();
    for (const item of one.group) counts.set(item[4][0], (counts.get(item[4][0]) || 0) + 1);
    line("what", `${one.group.length} side by side; click to see them apart`);
    for (const [what, count] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 30)) line("", `${count} × ${what}`);
    const longest = one.group.reduce((most, item) => Math.max(most, item[5] ?? -1), -1);
    if (longest >= 0) line("dim", `the longest took ${duration(longest)}`);
    return;
  }
  const [what, ...rest] = one.group[0][4];
  line("what", what);
  for (const text of rest) /^[→←·] /.test(text) ? line("", pretty(text), "pre") : line("dim", text);
}

const under = (event) => event.target.closest?.("g.item")?.shows;
let grip = null;

chart.addEventListener("wheel", (event) => {
  if (event.shiftKey) return look(view.from + event.deltaY / perMs(), view.to + event.deltaY / perMs());
  event.preventDefault();
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return look(view.from + event.deltaX / perMs(), view.to + event.deltaX / perMs());
  zoom(Math.exp(event.deltaY * 0.002), view.from + (event.clientX - LEFT) / perMs());
}, { passive: false });
chart.addEventListener("pointerdown", (event) => {
  grip = { x: event.clientX, from: view.from, to: view.to, moved: false };
});
addEventListener("pointermove", (event) => {
  if (grip) {
    const by = (event.clientX - grip.x) / perMs();
    grip.moved ||= Math.abs(event.clientX - grip.x) > 4;
    if (grip.moved) look(grip.from - by, grip.to - by);
    return;
  }
  const one = under(event);
  if (one && !held) tell(one);
});
addEventListener("pointerup", (event) => {
  const clicked = grip && !grip.moved;
  grip = null;
  if (!clicked || !chart.contains(event.target)) return;
  const one = under(event);
  held = Boolean(one) && one.group.length === 1;
  panel.classList.toggle("held", held);
  if (!one) return;
  tell(one);
  if (one.group.length > 1) {
    const from = one.group[0][0], to = one.group.reduce((most, item) => Math.max(most, item[1]), from), edge = Math.max(1e-3, (to - from) * 0.1);
    look(from - edge, to + edge);
  }
});
addEventListener("keydown", (event) => {
  const by = (view.to - view.from) * 0.2;
  const act = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: () => look(0, length),
    ArrowLeft: () => look(view.from - by, view.to - by), ArrowRight: () => look(view.from + by, view.to + by) }[event.key];
  if (act && !event.ctrlKey && !event.metaKey) act();
});
addEventListener("resize", redraw);
draw();
