-- What measuring found for a version of a pattern; follows from sessions and can be made again.
CREATE TABLE effect (
  pattern_id  TEXT NOT NULL,
  version     INTEGER NOT NULL,
  method      TEXT NOT NULL,       -- 'before_after' or 'trial'
  verdict     TEXT NOT NULL CHECK (verdict IN ('improved', 'no_effect', 'regressed',
    'insufficient_data')),
  measured_at INTEGER NOT NULL,
  body        TEXT NOT NULL,       -- JSON of the figures: no words of a log
  PRIMARY KEY (pattern_id, version, method)
) STRICT, WITHOUT ROWID;
