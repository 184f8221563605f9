/** The database: one file for all agents, written by any number of processes at once. */

import Database from "libsql";

import { SCHEMA, READS, WRITES } from "./schema.mjs";

const BUSY_MS = 2000; // nothing else of the plugin goes on while it waits for another process
const RETRY_MS = 5000;
const MOST_WAITING = 10_000;
const MOST_CHARS = 200;

export class Store {
  #path;
  #tell;
  #database;
  #waiting = [];
  #lost = 0;
  #timer;

  /**
   * Nothing is opened before the first write.
   * @param {string} path
   * @param {(level: "info" | "warning", message: string) => void} tell
   *   told when writing fails, and when it works again
   */
  constructor(path, tell) {
    this.#path = path;
    this.#tell = tell;
  }

  /**
   * Write what has happened, all or nothing. What cannot be written now waits for the next time:
   * the disk may be full, or another process be at work for long.
   * @param {...[string, Record<string, any>]} rows each the name of a write, and an event's payload
   */
  write(...rows) {
    for (const [write, payload] of rows)
      this.#waiting.push([write, WRITES[write].fields.map((name) => value(payload[name]))]);
    const over = this.#waiting.length - MOST_WAITING;
    if (over > 0) this.#lost += this.#waiting.splice(0, over).length;
    this.#flush();
  }

  /**
   * What was used since a time, as `READS` has it; throws if the database cannot be read.
   * @param {string} since
   */
  read(since) {
    this.#flush();
    const database = this.#open();
    return Object.fromEntries(
      Object.entries(READS).map(([name, sql]) => [name, database.prepare(sql).all({ since })]),
    );
  }

  close() {
    this.#flush();
    clearInterval(this.#timer);
    if (this.#waiting.length)
      this.#tell("info", `${this.#waiting.length} entries of the journal are lost`);
    this.#database?.close();
  }

  #flush() {
    if (!this.#waiting.length) return;
    try {
      const database = this.#open();
      database.exec("BEGIN IMMEDIATE"); // or two that have begun to read would wait for each other
      try {
        for (const [write, values] of this.#waiting)
          database.prepare(WRITES[write].sql).run(...values);
        database.exec("COMMIT");
      } catch (error) {
        if (database.inTransaction) database.exec("ROLLBACK"); // a full disk has ended it by itself
        throw error;
      }
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#waiting = [];
    this.#worked();
  }

  #open() {
    if (!this.#database) {
      const database = new Database(this.#path, { timeout: BUSY_MS });
      try {
        database.pragma("journal_mode = WAL"); // readers and a writer do not wait for each other
        database.pragma("synchronous = NORMAL"); // without power the last entries go, not the file
        database.pragma("wal_autocheckpoint = 100"); // pages: else its log grows to 4 MB
        database.exec(SCHEMA);
      } catch (error) {
        database.close();
        throw error;
      }
      this.#database = database;
    }
    return this.#database;
  }

  #failed(error) {
    if (this.#timer) return; // it was told
    this.#timer = setInterval(() => this.#flush(), RETRY_MS).unref();
    this.#tell("warning", `the journal cannot be written, and is tried again: ${error.message}`);
  }

  #worked() {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    const lost = this.#lost ? `; ${this.#lost} older entries are lost` : "";
    this.#lost = 0;
    this.#tell("info", `the journal is written again${lost}`);
  }
}

/** What the database takes: names that others chose are cut. */
function value(given) {
  if (given === undefined || given === null) return null;
  if (typeof given === "boolean") return Number(given);
  return typeof given === "number" ? given : String(given).slice(0, MOST_CHARS);
}
