-- One row for each call of a model, paid or not; the budget is counted from here. A call under way
-- is a reservation with the most it may cost; so it stays when its process dies.
CREATE TABLE spend (
  id            INTEGER PRIMARY KEY,
  at            INTEGER NOT NULL,
  day           TEXT NOT NULL,       -- local date, since caps are per local day
  run           TEXT NOT NULL,       -- one run of a command or of the worker
  purpose       TEXT NOT NULL,
  provider      TEXT NOT NULL,
  model         TEXT NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  usd           REAL,                -- NULL where the price is unknown
  state         TEXT NOT NULL CHECK (state IN ('reserved', 'ok', 'failed')),
  error         TEXT                 -- the kind of failure, never its words
) STRICT;
CREATE INDEX spend_day ON spend (day);
CREATE INDEX spend_run ON spend (run);

-- What a session left for its project: the trace and its summary, also in trace_summaries/.
CREATE TABLE trace (
  session_id     INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  thread_id      TEXT NOT NULL,      -- the session's name in file names: unique, fit for a file
  root           TEXT NOT NULL,      -- normalised directory whose memory it belongs to
  trace_summary  TEXT NOT NULL,
  memory_summary TEXT NOT NULL,
  updated_at     INTEGER NOT NULL,   -- of the session when it was read
  passed_over    TEXT                -- why it left nothing; then the texts are empty
) STRICT;
CREATE UNIQUE INDEX trace_thread ON trace (thread_id);
CREATE INDEX trace_root ON trace (root, updated_at DESC);

-- Who consolidates a project's memory; the swap of the folder checks the owner in one transaction.
CREATE TABLE memory_consolidation_locks (
  cwd               TEXT PRIMARY KEY,
  working_thread_id TEXT NOT NULL,
  updated_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_consolidation_locks_age ON memory_consolidation_locks (updated_at DESC);
