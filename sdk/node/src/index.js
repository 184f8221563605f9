// Write plugins for LLM agents: one executable, a few functions.
//
//     import { Plugin, deny } from "sliphook-sdk";
//
//     const plugin = new Plugin("guard", { version: "1.0.0" });
//
//     const match = { tool_name: ["shell"] };
//
//     plugin.hook("pre_tool_call", { match, onFailure: "closed" }, (call) => {
//       if (String(call.arguments.command).includes("rm -rf")) return deny("not for agents");
//     });
//
//     plugin.run();

export { allow, ask, context, continueWith, deny, replace, substitute } from "./answers.js";
export {
  AnswerError,
  CommandError,
  HostRefused,
  NotConnected,
  RegistrationError,
  ToolError,
} from "./errors.js";
export { Image } from "./image.js";
export { disabled } from "./life.js";
export { Plugin } from "./plugin.js";
export { ErrorCode } from "./protocol.js";
export { Tool } from "./registration.js";
