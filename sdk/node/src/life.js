// The start and the end of a plugin, and the author's functions for them.

import { LifeContext } from "./context.js";
import { AnswerError, describe, RpcError } from "./errors.js";
import { Call } from "./peer.js";
import { ErrorCode, LIMITS, PROTOCOL_VERSIONS } from "./protocol.js";
import { Handler, placeIn } from "./registration.js";

const NODE_STARTS_S = 1; // of the time for `initialize`; the rest is for `onStart`

/** How long `onShutdown` may still take after `exit`; then the host would send SIGTERM. */
export const SHUT_LINGER_MS = (LIMITS.EXIT_GRACE_S - 0.5) * 1000;

class Disabled {
  constructor(reason) {
    this.reason = reason;
    Object.freeze(this);
  }
}

/**
 * What `onStart` returns if the plugin cannot work here; the user reads the reason. A guard that is
 * disabled still guards: what it would be asked is denied.
 */
export const disabled = (reason) => new Disabled(reason);

/** A function that is called once, at the start or at the end: `(ctx)`. */
export class LifeHandler extends Handler {
  constructor(moment, run) {
    super(`${moment}()`, run);
  }
}

export class Life {
  #service;
  #begin;
  #begun = new Promise((resolve) => {
    this.#begin = resolve;
  });
  #takesPart = false;
  #waiting = new Set(); // the methods of requests that were made too early
  #cleanedUp;

  constructor(service) {
    this.#service = service;
  }

  /** True from the answer to `initialize` on, if the plugin takes part. */
  get hasBegun() {
    return this.#takesPart;
  }

  /** Resolves when the host takes requests, or has gone. */
  async begun(method) {
    if (this.#takesPart) return;
    this.#waiting.add(method);
    await this.#begun;
  }

  /** Answer `initialize`. */
  async start(call) {
    const { peer, plugin } = this.#service;
    try {
      const reason = await this.#prepare(call);
      this.#takesPart = reason === undefined && call.params.manifest_only !== true;
      const manifest = plugin.manifest(reason);
      if (this.#takesPart) manifest.tools = this.#service.toolbox.declare();
      peer.answer(call, manifest);
      if (this.#takesPart) this.#begin();
    } catch (error) {
      peer.refuse(call, error);
    }
  }

  /**
   * Call `onShutdown`, once and if the plugin has started. Resolves when it is done, whatever it
   * threw; undefined if there is nothing to clean up.
   */
  cleanUp(withinMs) {
    const handler = this.#service.plugin.life.get("onShutdown");
    if (!this.#takesPart || handler === undefined) return undefined;
    const ctx = new LifeContext(this.#service, performance.now() + withinMs);
    // what it throws is in the log, and the end goes on
    this.#cleanedUp ??= this.#service
      .run(handler, new Call(), async () => handler.run(ctx))
      .catch(() => {});
    return this.#cleanedUp;
  }

  /** The host has gone. */
  end() {
    this.#begin();
  }

  /** Why the plugin does not take part, or undefined. Throws RpcError. */
  async #prepare(call) {
    const { protocol_versions: theirs, plugin, manifest_only: manifestOnly } = call.params;
    const service = this.#service;
    if (!Array.isArray(theirs) || !theirs.some((version) => PROTOCOL_VERSIONS.includes(version))) {
      const ours = PROTOCOL_VERSIONS.join(", ");
      throw new RpcError(
        ErrorCode.INVALID_PARAMS,
        `no common version: the plugin ${service.plugin.name} speaks ${ours}, the host ${theirs}`,
      );
    }
    service.dataDir = plugin?.data_dir ?? ".";
    try {
      service.config = service.plugin.readConfig(plugin?.config ?? {});
    } catch (error) {
      // a plugin that is being installed has no name and no settings yet; the user must still see
      // what it wants
      const noSettingsYet = plugin?.name == null && Object.keys(plugin?.config ?? {}).length === 0;
      return noSettingsYet ? undefined : `its settings do not fit: ${describe(error)}`;
    }
    const handler = service.plugin.life.get("onStart");
    const { disabled: reason } = service.plugin.manifest();
    if (manifestOnly === true || handler === undefined || reason) return reason;
    return await this.#call(handler, call);
  }

  /** Call `onStart`; what it says. */
  async #call(handler, call) {
    const patienceMs = (LIMITS.INITIALIZE_TIMEOUT_S - NODE_STARTS_S) * 1000;
    const ctx = new LifeContext(this.#service, call.arrived + patienceMs);
    const timer = setTimeout(() => this.#isLate(handler, call, patienceMs), patienceMs);
    try {
      return await this.#service.run(handler, call, async () => reasonOf(await handler.run(ctx)));
    } catch (error) {
      const cause = error.cause ?? error;
      throw new RpcError(
        ErrorCode.INTERNAL_ERROR,
        `onStart() failed: ${describe(cause)} (${placeIn(cause.stack) || handler.where})`,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  #isLate(handler, call, patienceMs) {
    const waits = [...this.#waiting].join(", ");
    this.#service.peer.refuse(
      call,
      new RpcError(
        ErrorCode.INTERNAL_ERROR,
        `onStart() took longer than ${patienceMs / 1000} s (${handler.where})${
          waits &&
          `; ${waits} is taken only when the plugin has started, so onStart must not await it`
        }`,
      ),
    );
  }
}

/** Why the plugin does not take part, from what `onStart` returned; undefined if it does. */
function reasonOf(returned) {
  if (returned === undefined || returned === null) return undefined;
  if (returned instanceof Disabled && typeof returned.reason === "string" && returned.reason !== "")
    return returned.reason;
  throw new AnswerError(
    `returned ${returned instanceof Disabled ? "disabled() without a reason" : typeof returned}; it returns nothing, or disabled(reason)`,
  );
}
