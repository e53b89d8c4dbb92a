-- When raw text of a session was last captured: its age counts from here.
ALTER TABLE session ADD COLUMN raw_captured_at INTEGER NOT NULL DEFAULT 0;
UPDATE session SET raw_captured_at = captured_at;
