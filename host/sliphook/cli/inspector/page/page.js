// The page of `sliphook inspect`: shows what the server tells, and sends what the user fills in.

import { element, formOf, json, jsonForm } from "./form.js";

const SHOWN = 2000; // lines of the wire and of the log that stay on the page
const $ = (id) => document.getElementById(id);

let things = [];
let read = () => ({});
let underWay = 0;
let drawing = 0;

const post = async (path, body) => {
  const reply = await fetch(path, { method: "POST", body: JSON.stringify(body ?? {}) });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
};

// -- the plugin

const showState = (shown) => {
  document.title = `${shown.name}: sliphook inspect`;
  $("name").textContent = shown.name;
  $("name").title = shown.path;
  $("state").textContent = shown.state;
  $("state").className = shown.state;
  const restarts = shown.restarts ? `, started again ${shown.restarts} times` : "";
  $("why").textContent = `${shown.pid ? `pid ${shown.pid}` : ""}${restarts} ${shown.why ?? ""}`;
  $("manifest").textContent = shown.manifest ? json(shown.manifest) : "It has not declared anything yet.";
  showThings(shown.things);
};

const key = (thing) => `${thing.kind}/${thing.name}`;

const showThings = (now) => {
  if (JSON.stringify(now) === JSON.stringify(things)) return;
  const before = $("thing").value;
  things = now;
  const groups = [
    ["Tools", (thing) => thing.kind === "tool"],
    ["Commands", (thing) => thing.kind === "command"],
    ["Subscribed hooks", (thing) => thing.kind === "hook" && thing.declared],
    ["Subscribed events", (thing) => thing.kind === "event" && thing.declared],
    ["Not subscribed", (thing) => !thing.declared],
  ];
  $("thing").replaceChildren(
    ...groups
      .map(([label, fits]) => [label, things.filter(fits)])
      .filter(([, some]) => some.length)
      .map(([label, some]) =>
        element("optgroup", { label }, ...some.map((thing) => element("option", { value: key(thing) }, thing.name))),
      ),
  );
  const kept = things.some((thing) => key(thing) === before);
  if (kept) $("thing").value = before;
  showForm(kept && $("fields").contains(document.activeElement));
};

const chosen = () => things.find((thing) => key(thing) === $("thing").value);

const showForm = (keep) => {
  if (keep) return; // somebody is writing in it
  const thing = chosen();
  if (!thing) return;
  $("description").textContent = `${thing.kind}: ${thing.description}`;
  read = $("as-json").checked
    ? jsonForm($("fields"), thing.sample, "field")
    : formOf($("fields"), thing.schema, thing.sample, "field", thing.common);
};

// -- asking

const showAnswer = (answer) => {
  const took = answer.elapsed_ms === null || answer.elapsed_ms === undefined ? "" : ` after ${answer.elapsed_ms.toFixed(1)} ms`;
  const good = ["answered", "told"].includes(answer.status);
  $("answer").replaceChildren(
    element("p", { className: good ? "good" : "wrong" }, `${answer.summary}${took}`),
    ...(answer.detail ? [element("pre", { tabIndex: 0 }, json(answer.detail))] : []),
  );
};

const ask = async (asked) => {
  underWay += 1;
  $("stop").disabled = false;
  $("answer").replaceChildren(element("p", { className: "quiet" }, "waiting …"));
  try {
    showAnswer(await post("ask", asked));
  } catch (error) {
    showAnswer({ status: "not_sent", summary: error.message });
  } finally {
    underWay -= 1;
    $("stop").disabled = underWay === 0;
  }
};

const timeout = () => ($("timeout").value === "" ? null : Number($("timeout").value));

const send = () => {
  const thing = chosen();
  if (!thing) return;
  let fields;
  try {
    fields = read();
  } catch (error) {
    showAnswer({ status: "not_sent", summary: error.message });
    return;
  }
  ask({ kind: thing.kind, name: thing.name, fields, timeout_s: timeout() });
};

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
$("form").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
});
$("thing").addEventListener("change", () => showForm(false));
$("as-json").addEventListener("change", () => showForm(false));
$("stop").addEventListener("click", () => post("stop"));
$("restart").addEventListener("click", () => post("restart").then(showState));

// -- the wire

const addLine = (list, item) => {
  const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
  list.append(item);
  while (list.childElementCount > SHOWN) list.firstElementChild.remove();
  if (atEnd) list.scrollTop = list.scrollHeight;
};

const editAgain = async (number) => {
  const message = await (await fetch(`message/${number}`)).json();
  $("method").value = message.method;
  $("params").value = json(message.params);
  $("edit-wrong").textContent = "";
  $("edit").showModal();
};

const saveTest = async (number, place) => {
  const reply = await fetch(`test/${number}`);
  if (!reply.ok) {
    place.textContent = await reply.text();
    return;
  }
  const name = /filename="([^"]*)"/.exec(reply.headers.get("Content-Disposition") ?? "")?.[1] ?? "test.txt";
  element("a", { href: `test/${number}`, download: name }).click();
  place.textContent = `${name} is saved; it belongs beside the plugin`;
};

const addRecord = (record) => {
  const said = element("p", { className: "quiet", role: "status" });
  const actions = record.again
    ? [
        element("p", { className: "actions" },
          element("button", { type: "button", onclick: () => editAgain(record.number) }, "Change and send again"),
          element("button", { type: "button", onclick: () => saveTest(record.number, said) }, "Save as a test")),
        said,
      ]
    : [];
  const body = record.body ? [element("pre", {}, record.body)] : [];
  addLine($("wire"), element("li", { className: record.kind }, element("details", {}, element("summary", {}, record.line.replace(/ {3,}/g, "  ")), ...body, ...actions)));
  if (!drawing) drawing = setTimeout(draw, 500);
};

const draw = () => {
  drawing = 0;
  $("picture").src = `timeline.svg?${Date.now()}`;
  $("picture").hidden = false;
};

$("send-again").addEventListener("click", () => {
  let fields;
  try {
    fields = JSON.parse($("params").value);
  } catch (error) {
    $("edit-wrong").textContent = `params: ${error.message}`;
    return;
  }
  $("edit").close();
  ask({ kind: "raw", name: $("method").value, fields, timeout_s: timeout() });
});

// -- log and questions

const addSaid = ({ plugin, level, text }) => {
  addLine($("log"), element("li", { className: level }, `${level}  ${plugin}: ${text}`));
};

let readQuestion = () => null;
let questionId = null;

const showQuestion = (question) => {
  questionId = question.id;
  $("prompt").textContent = question.prompt;
  $("question-wrong").textContent = question.wrong ?? "";
  const isObject = question.schema.type === "object";
  const schema = isObject ? question.schema : { properties: { answer: question.schema }, required: ["answer"] };
  const readForm = formOf($("question-fields"), schema, {}, "question-field");
  readQuestion = () => (isObject ? readForm() : readForm().answer);
  if (!$("question").open) $("question").showModal();
};

const answerQuestion = (value) => {
  $("question").close();
  post("answer", { id: questionId, value });
};

$("question-form").addEventListener("submit", (event) => {
  event.preventDefault();
  try {
    const value = readQuestion();
    if (value === undefined) throw new Error("give an answer, or decline");
    answerQuestion(value);
  } catch (error) {
    $("question-wrong").textContent = error.message;
  }
});
$("decline").addEventListener("click", () => answerQuestion(null));
$("question").addEventListener("cancel", () => answerQuestion(null));

// -- what the server tells

const events = new EventSource("events");
events.onopen = () => $("wire").replaceChildren();
events.onmessage = ({ data }) => {
  const told = JSON.parse(data);
  if (told.state) showState(told.state);
  if (told.record) addRecord(told.record);
  if (told.said) addSaid(told.said);
  if (told.question) showQuestion(told.question);
  if (told.answered && told.answered === questionId) $("question").close();
};
events.onerror = () => {
  $("state").textContent = "the command has ended, or cannot be reached";
  $("state").className = "gone";
};
