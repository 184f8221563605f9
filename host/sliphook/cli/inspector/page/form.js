// A form made of a JSON Schema: a control for each field, JSON where a control would not do.

const resolve = (schema, root) => {
  let found = schema;
  for (let step = 0; found?.$ref && step < 16; step += 1) {
    found = root.$defs?.[found.$ref.replace("#/$defs/", "")] ?? {};
  }
  return found ?? {};
};

/** The schema without the choice of null; `nullable` says whether null is one. */
const plain = (schema, root) => {
  const whole = resolve(schema, root);
  const choices = (whole.anyOf ?? whole.oneOf)?.map((one) => resolve(one, root));
  if (!choices) return { shape: whole, nullable: false };
  const others = choices.filter((one) => one.type !== "null");
  const shape = others.length === 1 ? { ...others[0], description: whole.description ?? others[0].description } : {};
  return { shape, nullable: others.length < choices.length };
};

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const json = (value) => (value === undefined ? "" : JSON.stringify(value, null, 2));

const parsed = (text, name) => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
};

/** One control: its element, and what it holds; undefined leaves the field out. */
const control = (id, name, schema, value, root) => {
  const { shape, nullable } = plain(schema, root);
  const types = Array.isArray(shape.type) ? shape.type.filter((one) => one !== "null") : [shape.type];
  const type = types.length === 1 ? types[0] : undefined;
  if (Array.isArray(shape.enum) && shape.enum.length <= 100) {
    const select = element("select", { id });
    const choices = [...(nullable || value === undefined ? [undefined] : []), ...shape.enum];
    choices.forEach((one, at) => {
      select.append(element("option", { value: String(at), selected: one === (value ?? undefined) }, one === undefined ? "—" : String(one)));
    });
    return { node: select, read: () => choices[Number(select.value)] };
  }
  if (type === "boolean") {
    const box = element("input", { id, type: "checkbox", checked: value === true });
    let touched = value !== undefined && value !== null;
    box.addEventListener("change", () => { touched = true; });
    return { node: box, read: () => (touched ? box.checked : undefined) };
  }
  if (type === "integer" || type === "number") {
    const input = element("input", { id, type: "number", step: type === "integer" ? "1" : "any", value: value ?? "" });
    return { node: input, read: () => (input.value === "" ? undefined : Number(input.value)) };
  }
  if (type === "string") {
    const long = typeof value === "string" && (value.length > 60 || value.includes("\n"));
    const input = element(long ? "textarea" : "input", { id, value: value ?? "", spellcheck: false });
    const absent = value === undefined || value === null;
    return { node: input, read: () => (absent && input.value === "" ? undefined : input.value) };
  }
  const area = element("textarea", { id, rows: Math.min(10, json(value).split("\n").length), value: json(value), spellcheck: false });
  return { node: area, read: () => (area.value.trim() === "" ? undefined : parsed(area.value, name)) };
};

/**
 * Fill `place` with a form for an object, and return a function that reads it.
 * @param {HTMLElement} place
 * @param {object} schema JSON Schema of the object
 * @param {object} sample values to begin with
 * @param {string} prefix of the controls' ids
 * @param {string[]} common fields that few people change: they are folded away
 */
export const formOf = (place, schema, sample, prefix, common = []) => {
  const folded = element("details", {}, element("summary", {}, "Common fields"));
  place.replaceChildren();
  const required = new Set(schema.required ?? []);
  const names = Object.keys(schema.properties ?? {});
  const extra = Object.keys(sample).filter((name) => !names.includes(name));
  const readers = [...names, ...extra].map((name) => {
    const field = schema.properties?.[name] ?? {};
    const id = `${prefix}-${name}`;
    const { node, read } = control(id, name, field, sample[name], schema);
    const label = element("label", { htmlFor: id }, required.has(name) ? `${name} *` : name);
    const about = plain(field, schema).shape.description ?? field.description;
    const parts = [label, node];
    if (about) {
      const note = element("small", { id: `${id}-about` }, about);
      node.setAttribute("aria-describedby", note.id);
      parts.push(note);
    }
    (common.includes(name) ? folded : place).append(element("div", { className: "field" }, ...parts));
    return [name, read];
  });
  if (common.length) place.append(folded);
  if (!readers.length) place.append(element("p", { className: "quiet" }, "It takes no fields."));
  return () => Object.fromEntries(readers.map(([name, read]) => [name, read()]).filter(([, value]) => value !== undefined));
};

/** One area of JSON in place of the controls. */
export const jsonForm = (place, value, prefix) => {
  const id = `${prefix}-json`;
  const area = element("textarea", { id, rows: 16, value: json(value), spellcheck: false });
  place.replaceChildren(element("label", { htmlFor: id }, "Fields"), area);
  return () => {
    const read = parsed(area.value, "fields");
    if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error("fields: give an object");
    return read;
  };
};

export { element, json };
