// State that belongs to a session and ends with it.

/** One state a session: `get(sessionId)` makes it when it is first asked for. It is gone when the handlers of `session_end` have run. */
export class Sessions {
  #make;
  #states = new Map();

  constructor(make) {
    this.#make = make;
  }

  get(sessionId) {
    if (this.#make === undefined) throw new Error("the plugin keeps no state of sessions; say what it is: new Plugin(name, { sessions: () => ({}) })");
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

  /** The session is over. */
  forget(sessionId) {
    this.#states.delete(sessionId);
  }
}
