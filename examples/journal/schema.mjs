/** The tables, what is written into them, and what is read. Times are texts in UTC. */

export const SCHEMA = `
CREATE TABLE IF NOT EXISTS session (
  session_id TEXT PRIMARY KEY, began TEXT NOT NULL, seen TEXT NOT NULL,
  platform TEXT, user_id TEXT, project TEXT, ended TEXT, reason TEXT,
  -- what the agent counted, at the end: more than the rows here if the journal was away
  turns INTEGER, model_calls INTEGER, tool_calls INTEGER,
  input_tokens INTEGER, output_tokens INTEGER
);
CREATE TABLE IF NOT EXISTS turn (
  turn_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, began TEXT NOT NULL,
  ended TEXT, outcome TEXT, interrupts INTEGER, duration_ms REAL
);
CREATE TABLE IF NOT EXISTS model_call (
  event_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, turn_id TEXT, agent_id TEXT,
  time TEXT NOT NULL,
  provider TEXT, model TEXT, input_tokens INTEGER, cached_tokens INTEGER, output_tokens INTEGER,
  cost REAL, duration_ms REAL, substituted_by TEXT, failed TEXT
);
CREATE TABLE IF NOT EXISTS tool_call (
  event_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, turn_id TEXT, agent_id TEXT,
  time TEXT NOT NULL,
  tool_name TEXT NOT NULL, tool_kind TEXT, origin TEXT, status TEXT NOT NULL, duration_ms REAL
);
CREATE INDEX IF NOT EXISTS turn_began ON turn (began);
CREATE INDEX IF NOT EXISTS model_call_time ON model_call (time);
CREATE INDEX IF NOT EXISTS tool_call_time ON tool_call (time);
`;

const insert = (table, columns, more) =>
  `INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => "?")}) ${more}`;

/** A write of one row, which stays as it is if it comes again. */
const row = (table, columns, fields = columns) => ({
  sql: insert(table, columns, "ON CONFLICT DO NOTHING"),
  fields,
});

/**
 * Each write: its SQL, and the fields of the payload that are its values. Each may come twice, and
 * an end without its begin: the journal may have been started in between.
 */
export const WRITES = {
  session: {
    sql: insert(
      "session",
      ["session_id", "began", "seen", "platform", "user_id", "project"],
      `ON CONFLICT DO UPDATE
      SET began = min(began, excluded.began), seen = max(seen, excluded.seen)`,
    ),
    fields: ["session_id", "time", "time", "platform", "user_id", "cwd"],
  },
  session_end: {
    sql: `UPDATE session SET ended = ?, reason = ?, turns = ?, model_calls = ?, tool_calls = ?,
      input_tokens = ?, output_tokens = ? WHERE session_id = ?`,
    fields: [
      "time",
      "reason",
      "turns",
      "model_calls",
      "tool_calls",
      "input_tokens",
      "output_tokens",
      "session_id",
    ],
  },
  turn: row("turn", ["turn_id", "session_id", "began"], ["turn_id", "session_id", "time"]),
  turn_end: {
    sql: `UPDATE turn SET ended = ?, outcome = ?, interrupts = ?, duration_ms = ?
      WHERE turn_id = ?`,
    fields: ["time", "outcome", "interrupt_count", "duration_ms", "turn_id"],
  },
  model_call: row("model_call", [
    "event_id",
    "session_id",
    "turn_id",
    "agent_id",
    "time",
    "provider",
    "model",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "cost",
    "duration_ms",
    "substituted_by",
    "failed",
  ]),
  tool_call: row("tool_call", [
    "event_id",
    "session_id",
    "turn_id",
    "agent_id",
    "time",
    "tool_name",
    "tool_kind",
    "origin",
    "status",
    "duration_ms",
  ]),
};

const CALLS = `count(*) AS calls, sum(input_tokens) AS input, sum(cached_tokens) AS cached,
  sum(output_tokens) AS output, sum(cost) AS cost, count(*) - count(cost) AS unpriced`;

/** What the commands read, each a list of rows. */
export const READS = {
  models: `SELECT coalesce(model, provider, '?') AS model, ${CALLS} FROM model_call
    WHERE time >= :since AND failed IS NULL GROUP BY 1 ORDER BY calls DESC, 1`,
  days: `SELECT date(time, 'localtime') AS day, ${CALLS} FROM model_call
    WHERE time >= :since AND failed IS NULL GROUP BY 1 ORDER BY 1`,
  tools: `SELECT tool_name AS tool, count(*) AS calls, sum(status = 'error') AS failed,
      sum(status = 'denied') AS denied, sum(status IN ('cancelled', 'timed_out')) AS cancelled,
      sum(duration_ms) AS ms
    FROM tool_call WHERE time >= :since GROUP BY 1 ORDER BY calls DESC, 1`,
  turns: `SELECT count(*) AS turns, count(DISTINCT session_id) AS sessions,
      coalesce(sum(interrupts > 0), 0) AS interrupted,
      coalesce(sum(outcome = 'failed'), 0) AS failed
    FROM turn WHERE began >= :since`,
  failures: `SELECT failed AS kind, count(*) AS calls FROM model_call
    WHERE time >= :since AND failed IS NOT NULL GROUP BY 1 ORDER BY 2 DESC`,
  unheard: `SELECT coalesce(sum(max(0, s.model_calls - heard.calls)), 0) AS calls
    FROM session s JOIN (SELECT session.session_id, count(model_call.event_id) AS calls
      FROM session LEFT JOIN model_call USING (session_id)
      WHERE session.ended >= :since AND model_call.failed IS NULL GROUP BY 1) heard
    USING (session_id)`,
};
