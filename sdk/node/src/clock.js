// A clock for tests that jumps: where a handler does nothing but wait, its time goes on at once.
//
// While a call runs, the timers and `performance.now()` of the whole process are this clock's.

import { createRequire, syncBuiltinESMExports } from "node:module";

const timers = createRequire(import.meta.url)("node:timers");
const promises = timers.promises;
const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  now: performance.now.bind(performance),
  sleep: promises.setTimeout,
};
const IDLE_PASSES = 3; // passes of the event loop without anything to do, before time jumps

export class JumpingClock {
  #ahead = 0;
  #waiting = []; // timers: { at, run, every }

  now() {
    return real.now() + this.#ahead;
  }

  /** Run `work` to its end on this clock. */
  async run(work) {
    const before = kinds();
    this.#install();
    let done = false;
    const result = work().finally(() => {
      done = true;
    });
    result.catch(() => {}); // it is thrown below
    try {
      let idle = 0;
      while (!done) {
        await new Promise((resolve) => setImmediate(resolve));
        idle = this.#isBusy(before) ? 0 : idle + 1;
        if (this.#ring()) idle = 0;
        else if (idle === 0) await real.sleep(1);
        else if (idle > IDLE_PASSES && !this.#jump()) await real.sleep(1);
      }
      return await result;
    } finally {
      this.#restore();
    }
  }

  /** Something but timers is under way: a command, a file, a connection. */
  #isBusy(before) {
    const left = [...before];
    return kinds().some((kind) => {
      const at = left.indexOf(kind);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
  }

  /** Run what is due; false if nothing is. */
  #ring() {
    const now = this.now();
    const due = this.#waiting.filter((timer) => timer.at <= now).sort((a, b) => a.at - b.at)[0];
    if (due === undefined) return false;
    if (due.every === undefined) this.#remove(due);
    else due.at += due.every;
    due.run();
    return true;
  }

  /** Go on to the next timer; false if there is none. */
  #jump() {
    const next = Math.min(...this.#waiting.map((timer) => timer.at));
    if (next === Infinity) return false;
    this.#ahead += Math.max(0, next - this.now());
    return true;
  }

  #add(run, ms, every) {
    const timer = {
      at: this.now() + Math.max(1, Number(ms) || 0),
      run,
      every,
      ref: () => timer,
      unref: () => timer,
      hasRef: () => true,
      [Symbol.dispose ?? "dispose"]: () => this.#remove(timer),
    };
    this.#waiting.push(timer);
    return timer;
  }

  #remove(timer) {
    this.#waiting = this.#waiting.filter((other) => other !== timer);
  }

  #install() {
    const clear = (timer) => {
      if (this.#waiting.includes(timer)) this.#remove(timer);
      else real.clearTimeout(timer);
    };
    const sleep = (ms, value, { signal } = {}) =>
      new Promise((resolve, reject) => {
        const stop = () => {
          clear(timer);
          reject(new DOMException("The operation was aborted", { name: "AbortError", cause: signal.reason }));
        };
        const timer = this.#add(() => {
          signal?.removeEventListener("abort", stop);
          resolve(value);
        }, ms);
        if (signal?.aborted) stop();
        else signal?.addEventListener("abort", stop, { once: true });
      });
    put({
      setTimeout: (run, ms, ...args) => this.#add(() => run(...args), ms),
      setInterval: (run, ms, ...args) =>
        this.#add(() => run(...args), ms, Math.max(1, Number(ms) || 0)),
      clearTimeout: clear,
      clearInterval: clear,
      now: () => this.now(),
      sleep,
    });
  }

  #restore() {
    put(real);
  }
}

/** What keeps the process busy, but for timers. */
function kinds() {
  return process.getActiveResourcesInfo().filter((kind) => kind !== "Timeout" && kind !== "Immediate");
}

function put({ now, sleep, ...functions }) {
  Object.assign(globalThis, functions);
  Object.assign(timers, functions);
  promises.setTimeout = sleep;
  performance.now = now;
  syncBuiltinESMExports();
}
