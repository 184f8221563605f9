// What a person may answer to a question of a plugin, as the host checks it. The schemas of
// questions are flat: one value, or an object of such values.

/**
 * Why `answer` is none to a question with this schema, in words behind it; undefined if it is one.
 * `format` is for people and is not checked.
 */
export function whyNoAnswer(answer, schema) {
  const { type } = schema ?? { type: "string" };
  if (type === "object") return whyNoObject(answer, schema);
  if (type === "string") return whyNoText(answer, schema ?? {});
  if (type === "boolean") return typeof answer === "boolean" ? undefined : "is no boolean";
  return whyNoNumber(answer, schema);
}

function whyNoObject(answer, { properties = {}, required = [] }) {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return "is no object";
  const lacks = required.find((name) => !Object.hasOwn(answer, name));
  if (lacks !== undefined) return `lacks ${JSON.stringify(lacks)}`;
  for (const [name, value] of Object.entries(answer)) {
    if (!Object.hasOwn(properties, name)) return `has ${JSON.stringify(name)}, which is not asked for`;
    const why = whyNoAnswer(value, properties[name]);
    if (why !== undefined) return `has a ${JSON.stringify(name)} that ${why}`;
  }
  return undefined;
}

function whyNoText(answer, { enum: choices, minLength = 0, maxLength = Infinity }) {
  if (typeof answer !== "string") return "is no text";
  if (choices !== undefined && !choices.includes(answer))
    return `is not one of ${choices.join(", ")}`;
  const { length } = [...answer];
  return length < minLength || length > maxLength ? `has ${length} characters` : undefined;
}

function whyNoNumber(answer, schema) {
  if (typeof answer !== "number") return "is no number";
  if (schema.type === "integer" && !Number.isInteger(answer)) return "is no integer";
  const { minimum = -Infinity, maximum = Infinity, multipleOf } = schema;
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  const fits =
    answer >= minimum &&
    answer <= maximum &&
    answer > exclusiveMinimum &&
    answer < exclusiveMaximum &&
    (multipleOf === undefined || answer % multipleOf === 0);
  return fits ? undefined : "is out of the bounds";
}
