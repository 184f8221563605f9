// The author's state of each session.

/**
 * One state for each session; `get(sessionId)` creates it at its first use. It is removed after the
 * handlers of `session_end` have run.
 */
export class Sessions {
  #make;
  #states = new Map();

  constructor(make) {
    this.#make = make;
  }

  get(sessionId) {
    if (this.#make === undefined)
      throw new Error(
        "the plugin keeps no state of sessions; say what it is: new Plugin(name, { sessions: () => ({}) })",
      );
    if (!this.#states.has(sessionId)) this.#states.set(sessionId, this.#make());
    return this.#states.get(sessionId);
  }

  has(sessionId) {
    return this.#states.has(sessionId);
  }

  get size() {
    return this.#states.size;
  }

  [Symbol.iterator]() {
    return this.#states[Symbol.iterator]();
  }

  /** Remove the state of a session that has ended. */
  forget(sessionId) {
    this.#states.delete(sessionId);
  }
}
