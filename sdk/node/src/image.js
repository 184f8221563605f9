// Images that tools return, alone or in a list with texts.

import { AnswerError } from "./errors.js";

/** An image in a tool's result: the file's bytes, and their type such as `image/png`. */
export class Image {
  constructor(data, mime = "image/png") {
    if (!ArrayBuffer.isView(data)) throw new TypeError("the data of an Image is a Buffer");
    if (typeof mime !== "string") throw new TypeError("the type of an Image is a string");
    this.data = data;
    this.mime = mime;
  }
}

/** The result of a tool that returned an image, or a list with one; undefined for anything else. */
export function inParts(returned) {
  const items = Array.isArray(returned) ? returned : [returned];
  if (!items.some((item) => item instanceof Image)) return undefined;
  const parts = items.map(part);
  const texts = parts.filter(({ type }) => type === "text").map(({ text }) => text);
  return { content: texts.filter(Boolean).join("\n"), is_error: false, data: null, parts };
}

function part(item) {
  if (typeof item === "string") return { type: "text", text: item };
  if (!(item instanceof Image))
    throw new AnswerError(
      `returned a list with an Image and ${item === null ? "null" : typeof item} in it; it takes texts and Images`,
    );
  const { buffer, byteOffset, byteLength } = item.data;
  const data = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
  return { type: "image", mimeType: item.mime, data };
}
