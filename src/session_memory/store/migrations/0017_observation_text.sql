-- Observations by their words, however old. Entries go with their rows here, in whatever way a row
-- goes or changes; they are made in store/sqlite/observations.py, which knows how to write words.
CREATE VIRTUAL TABLE observation_text USING fts5(
  body, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER observation_gone AFTER DELETE ON observation BEGIN
  DELETE FROM observation_text WHERE rowid = old.id;
END;
CREATE TRIGGER observation_changed AFTER UPDATE OF text ON observation BEGIN
  DELETE FROM observation_text WHERE rowid = old.id;
END;
INSERT INTO observation_text (rowid, body) SELECT id, text FROM observation;
-- Events were indexed with fewer words before: sweeps make their entries again (reindex.py).
INSERT OR IGNORE INTO meta SELECT 'index_due', CAST('0' AS BLOB) WHERE EXISTS (SELECT 1 FROM event);
