-- What detection found in digests; both follow from them and can be made again.

-- Signals of a session, so that an unchanged digest is not mined twice.
CREATE TABLE mined (
  session_id INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  version    INTEGER NOT NULL,   -- of the miner
  body       TEXT NOT NULL       -- JSON array of core.patterns.Signal
) STRICT;

-- What recurs. The id says what it is about, so that a decision outlives every new detection.
CREATE TABLE pattern (
  id           TEXT PRIMARY KEY,
  kind         TEXT NOT NULL CHECK (kind IN ('problem', 'success')),
  type         TEXT NOT NULL,
  locus        TEXT NOT NULL,    -- '' when the words it was made of have gone
  about        TEXT NOT NULL,    -- for a cure: what it cures
  status       TEXT NOT NULL CHECK (status IN ('candidate', 'provisional', 'approved',
    'rejected', 'retired', 'superseded')),
  frequency    INTEGER NOT NULL,
  sessions     INTEGER NOT NULL,
  cross_flavor INTEGER NOT NULL,
  flavors      TEXT NOT NULL,    -- JSON object: flavour to sessions
  repos        TEXT NOT NULL,    -- JSON object: repository to sessions
  usd          REAL,
  minutes      REAL NOT NULL,
  value        REAL NOT NULL,
  first_seen   INTEGER,
  last_seen    INTEGER,
  detected_at  INTEGER NOT NULL, -- when it was first found
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pattern_cure ON pattern (about) WHERE type = 'cure';

-- A digest that changes, for whatever reason, takes its signals along.
CREATE TRIGGER digest_changed AFTER UPDATE OF body ON digest WHEN old.body IS NOT new.body BEGIN
  DELETE FROM mined WHERE session_id = new.session_id;
END;
-- Words of a session leave with it; the decision about a pattern stays.
CREATE TRIGGER mined_gone AFTER DELETE ON mined BEGIN
  UPDATE pattern SET locus = '', about = '', repos = '{}'
    WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(old.body));
  UPDATE pattern SET locus = '', about = '', repos = '{}'   -- a cure may join words of several
    WHERE type = 'cure' AND about IN (SELECT json_extract(value, '$[2]') FROM json_each(old.body)
      UNION SELECT json_extract(value, '$[9]') FROM json_each(old.body));
END;
