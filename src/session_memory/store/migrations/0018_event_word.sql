-- The vocabulary of the index over events, as SQLite reads it from there: nothing is stored twice.
CREATE VIRTUAL TABLE event_word USING fts5vocab(event_text, row);
