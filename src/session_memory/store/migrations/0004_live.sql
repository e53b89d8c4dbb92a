-- What hooks told of sessions, often before their logs exist: by the agent's own names.

-- A turn that ended, once, however often it was reported.
CREATE TABLE turn (
  flavor      TEXT NOT NULL,
  external_id TEXT NOT NULL,      -- of the session
  turn_id     TEXT NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (flavor, external_id, turn_id)
) STRICT, WITHOUT ROWID;

-- Small facts from payloads (model, source, client); a blank one never replaces a known one.
CREATE TABLE session_note (
  flavor      TEXT NOT NULL,
  external_id TEXT NOT NULL,
  name        TEXT NOT NULL,
  value       TEXT NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (flavor, external_id, name)
) STRICT, WITHOUT ROWID;

-- What was given to a session at its start, and what its trial arm held back.
CREATE TABLE injection (
  id          TEXT PRIMARY KEY,   -- of the spool record, so that one is noted once
  flavor      TEXT NOT NULL,
  external_id TEXT NOT NULL,
  at          INTEGER NOT NULL,
  given       TEXT NOT NULL,      -- JSON array of section ids
  held        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX injection_session ON injection (flavor, external_id);
