-- Capture, distillation and retention. Every time is Unix milliseconds, UTC.

-- Values of the store itself: its secret keys, its identity.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A place of work. Root and key never change once set.
CREATE TABLE project (
  id          INTEGER PRIMARY KEY,
  key         TEXT NOT NULL UNIQUE,
  root        TEXT UNIQUE,
  remote      TEXT,
  worktree_of TEXT,
  domain      TEXT,
  source      TEXT NOT NULL,
  confidence  TEXT NOT NULL
) STRICT;

-- Every working directory that led to a project, and how: resolved once, so that a directory
-- deleted later still names its project.
CREATE TABLE project_alias (
  path       TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  repo       TEXT,
  source     TEXT NOT NULL,
  confidence TEXT NOT NULL,
  warnings   TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;

-- A log file and how far it was read (the cursor).
CREATE TABLE source (
  id             INTEGER PRIMARY KEY,
  flavor         TEXT NOT NULL,
  path           TEXT NOT NULL UNIQUE,
  device         INTEGER NOT NULL,
  inode          INTEGER NOT NULL,
  size           INTEGER NOT NULL,
  mtime_ns       INTEGER NOT NULL,
  ctime_ns       INTEGER NOT NULL,
  head_hash      BLOB NOT NULL,      -- of the first bytes that were read
  tail_hash      BLOB NOT NULL,      -- of the last bytes before read_to
  read_to        INTEGER NOT NULL,   -- offset after the last complete newline
  state          TEXT NOT NULL,      -- the adapter's own, JSON
  parser_version INTEGER NOT NULL
) STRICT;

CREATE TABLE session (
  id                 INTEGER PRIMARY KEY,
  flavor             TEXT NOT NULL,
  external_id        TEXT NOT NULL,
  parent_external_id TEXT,
  forked_from        TEXT,
  project_id         INTEGER REFERENCES project (id),
  cwd                TEXT,
  repo               TEXT,
  domain             TEXT,
  branch             TEXT,
  commit_id          TEXT,
  models             TEXT NOT NULL DEFAULT '[]',
  client_version     TEXT,
  source_kind        TEXT NOT NULL DEFAULT 'interactive',
  opened_at          INTEGER,          -- time of the first record: tells a fork from its parent
  started_at         INTEGER,
  ended_at           INTEGER,
  title              TEXT,
  label              TEXT,
  low_value          TEXT,
  state              TEXT NOT NULL DEFAULT 'captured',
  parser_version     INTEGER NOT NULL DEFAULT 0,
  next_seq           INTEGER NOT NULL DEFAULT 0,
  event_count        INTEGER NOT NULL DEFAULT 0,   -- events ever captured
  raw_events         INTEGER NOT NULL DEFAULT 0,   -- rows in event now
  index_bytes        INTEGER NOT NULL DEFAULT 0,   -- estimated, see core/retention.py
  captured_at        INTEGER NOT NULL,
  metadata           TEXT NOT NULL DEFAULT '{}',
  UNIQUE (flavor, external_id)
) STRICT;
CREATE INDEX session_project ON session (project_id, ended_at);
CREATE INDEX session_time ON session (ended_at);
CREATE INDEX session_unanalyzed ON session (state) WHERE state = 'captured';

-- Which files a session was read from. Records before evicted_to are never taken in again.
CREATE TABLE session_source (
  session_id INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  source_id  INTEGER NOT NULL REFERENCES source (id),
  evicted_to INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_source_source ON session_source (source_id);

-- What the files state about a session, one winner per file; the session row is derived from it.
CREATE TABLE fact (
  session_id INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  source_id  INTEGER NOT NULL REFERENCES source (id),
  slot       TEXT NOT NULL DEFAULT '',   -- the value itself where many may stand side by side
  value      TEXT NOT NULL,              -- JSON
  pos        INTEGER NOT NULL,
  PRIMARY KEY (session_id, name, source_id, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE segment (
  id         INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  name       TEXT NOT NULL UNIQUE,
  bytes      INTEGER NOT NULL,
  text_bytes INTEGER NOT NULL,
  hash       BLOB NOT NULL
) STRICT;
CREATE INDEX segment_session ON segment (session_id);

-- Segment files whose rows are gone already and whose bytes must go next.
CREATE TABLE doomed_segment (
  name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- id = session id * 2^24 + seq: one integer gives the session, the order of arrival and the row.
CREATE TABLE event (
  id          INTEGER PRIMARY KEY,
  source_id   INTEGER NOT NULL,
  pos         INTEGER NOT NULL,      -- place of its record in that file: the order of events
  at          INTEGER,
  kind        TEXT NOT NULL,
  origin      TEXT NOT NULL,
  tool        TEXT,
  tool_class  TEXT,
  call_id     TEXT,
  is_error    INTEGER NOT NULL DEFAULT 0,
  exit_code   INTEGER,
  files       TEXT,                  -- JSON array
  command     TEXT,
  usage_key   INTEGER,
  fingerprint INTEGER NOT NULL,
  inherited   INTEGER NOT NULL DEFAULT 0,
  superseded  INTEGER NOT NULL DEFAULT 0,
  indexed     INTEGER NOT NULL DEFAULT 0,   -- 1: in event_text, 2: in turn_text too
  label       TEXT,
  segment_id  INTEGER,
  body_at     INTEGER NOT NULL DEFAULT 0,
  body_len    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX event_fingerprint ON event (fingerprint, id >> 24);

-- The same event in further files of its session.
CREATE TABLE event_copy (
  event_id  INTEGER NOT NULL REFERENCES event (id) ON DELETE CASCADE,
  source_id INTEGER NOT NULL REFERENCES source (id),
  pos       INTEGER NOT NULL,
  PRIMARY KEY (event_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_copy_source ON event_copy (source_id);

-- What stays of an event whose raw text was evicted: enough to know it again.
CREATE TABLE evicted_event (
  fingerprint INTEGER NOT NULL,
  session_id  INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  inherited   INTEGER NOT NULL,
  PRIMARY KEY (fingerprint, session_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX evicted_event_session ON evicted_event (session_id);

-- One row per API response and session; exactly one row of a response is counted.
CREATE TABLE usage (
  key            INTEGER NOT NULL,   -- keyed hash of the vendor's response id
  session_id     INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  counted        INTEGER NOT NULL DEFAULT 1,
  sidechain      INTEGER NOT NULL DEFAULT 0,
  at             INTEGER,
  model          TEXT NOT NULL,
  input          INTEGER NOT NULL,
  output         INTEGER NOT NULL,
  cache_read     INTEGER NOT NULL,
  cache_write_5m INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  reasoning      INTEGER NOT NULL,
  stated_usd     REAL,               -- dollars the log itself states
  usd            REAL,               -- dollars counted; NULL where no price is known
  price_table    TEXT,               -- version of the table that priced it
  PRIMARY KEY (key, session_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_session ON usage (session_id);

CREATE TABLE digest (
  session_id         INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  outcome            TEXT NOT NULL,
  source_fingerprint TEXT NOT NULL,
  body               TEXT NOT NULL     -- JSON of core.schema.Digest
) STRICT;

-- The digest as it was when raw text was last evicted: what comes later is merged into this one.
CREATE TABLE evicted_digest (
  session_id INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  body       TEXT NOT NULL
) STRICT;

-- Evictions done, with the reason of each; hard-cap losses stay visible here.
CREATE TABLE eviction (
  id          INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  session_id  INTEGER NOT NULL,
  external_id TEXT NOT NULL,
  reason      TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  data_loss   INTEGER NOT NULL
) STRICT;

-- Keyed fingerprints of events and responses the user forgot: no log and no fork brings them back.
CREATE TABLE tombstone (
  fingerprint INTEGER PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Keyed names of sessions the user forgot whole.
CREATE TABLE forgotten_session (
  name INTEGER PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Keyed paths of files that tell of nothing else, with their stamps: read again only when changed.
CREATE TABLE forgotten_source (
  path     INTEGER PRIMARY KEY,
  device   INTEGER NOT NULL,
  inode    INTEGER NOT NULL,
  size     INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Prompts, answers, commands, errors, paths, heads and tails of outputs; rowid = event id.
CREATE VIRTUAL TABLE event_text USING fts5(
  body, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);
-- Turns with their two predecessors, for questions whose words are spread over a dialogue.
CREATE VIRTUAL TABLE turn_text USING fts5(
  body, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);
