-- What sessions said that is worth knowing later; kept when their raw text goes.
CREATE TABLE observation (
  id         INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  hash       TEXT NOT NULL,      -- of session, type and wording, the same in every store
  type       TEXT NOT NULL CHECK (type IN ('session_summary', 'decision', 'objective',
    'user_request', 'constraint', 'project_dod', 'mission_dod', 'session_dod', 'pending_item',
    'completed_item', 'blocker', 'completion_claim')),
  status     TEXT NOT NULL CHECK (status IN ('snapshot', 'active', 'done', 'promoted', 'low_value',
    'retired', 'superseded')),
  source     TEXT NOT NULL CHECK (source IN ('turn_extract', 'manual_note')),
  text       TEXT NOT NULL,
  importance INTEGER NOT NULL CHECK (importance BETWEEN 1 AND 5),
  event_id   INTEGER,            -- its number stays when the event was evicted, so no reference
  origin     TEXT NOT NULL,
  at         INTEGER,
  evicted    INTEGER NOT NULL DEFAULT 0,   -- 1: what it was read from has gone, so it stays
  UNIQUE (session_id, hash)
) STRICT;
CREATE INDEX observation_time ON observation (at);

-- Which observer read a session last: a better one reads what is still here again.
ALTER TABLE session ADD COLUMN observer INTEGER NOT NULL DEFAULT 0;
-- Bytes of its observations, so that a sweep need not read them all to know their size.
ALTER TABLE session ADD COLUMN observed_bytes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_observer ON session (observer) WHERE raw_events > 0;
-- Words may be replaced in place when a secret is found later; the figure follows.
CREATE TRIGGER observation_rewritten AFTER UPDATE OF text ON observation BEGIN
  UPDATE session SET observed_bytes = observed_bytes
    + length(CAST(new.text AS BLOB)) - length(CAST(old.text AS BLOB)) WHERE id = new.session_id;
END;
