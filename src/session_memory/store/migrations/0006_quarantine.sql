-- Lines of logs that are no records: where they are, not what they say; the log still has them.
CREATE TABLE quarantine (
  source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
  pos       INTEGER NOT NULL,
  at        INTEGER NOT NULL,   -- when it was noticed
  PRIMARY KEY (source_id, pos)
) STRICT, WITHOUT ROWID;
