-- The project that a session was in when its entries in the indexes were written; 0 for none, NULL
-- for entries of older versions. Entries begin with a word for it (store/sqlite/places.py).
ALTER TABLE session ADD COLUMN place INTEGER;
-- Entries that were made before have no such word: sweeps make them again (reindex.py).
INSERT OR REPLACE INTO meta SELECT 'index_due', CAST('0' AS BLOB) WHERE EXISTS (SELECT 1 FROM event);
