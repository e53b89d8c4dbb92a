-- Whether work was called done, and whether it was: asked by a tool, or noticed at capture.
CREATE TABLE closure_check (
  id         INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('check', 'mismatch')),
  -- NULL where it was noticed at capture: then the project is the one its session is in.
  project_id INTEGER REFERENCES project (id) ON DELETE CASCADE,
  session_id INTEGER REFERENCES session (id) ON DELETE CASCADE,
  done       INTEGER NOT NULL,
  reason     TEXT NOT NULL
) STRICT;
CREATE INDEX closure_check_project ON closure_check (project_id, at);
CREATE INDEX closure_check_session ON closure_check (session_id);

-- When a project's state was last written into a file agents read, or why it was not.
CREATE TABLE context_sync (
  id         INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  path       TEXT NOT NULL,
  pack_hash  TEXT NOT NULL,
  skipped    INTEGER NOT NULL,
  reason     TEXT
) STRICT;
CREATE INDEX context_sync_project ON context_sync (project_id, at);
