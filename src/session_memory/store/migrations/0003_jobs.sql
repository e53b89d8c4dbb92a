-- Background work. A job is done when its success has caught up with its input.
CREATE TABLE job (
  id           INTEGER PRIMARY KEY,
  kind         TEXT NOT NULL,
  key          TEXT NOT NULL,       -- what it is about; one job per kind and key
  input        INTEGER NOT NULL,    -- watermark of what there is to do
  success      INTEGER,             -- watermark of what was done
  owner        TEXT,                -- token of who works on it
  lease_until  INTEGER,             -- until when nobody else may take it
  heartbeat_at INTEGER,
  retry_at     INTEGER,             -- not before
  retries_left INTEGER NOT NULL,
  last_error   TEXT,
  session_id   INTEGER REFERENCES session (id) ON DELETE CASCADE,
  enqueued_at  INTEGER NOT NULL,
  UNIQUE (kind, key)
) STRICT;
CREATE INDEX job_due ON job (enqueued_at) WHERE success IS NULL OR success < input;
CREATE INDEX job_session ON job (session_id);
