-- Where distilling a long session stood, so that an append costs what is new and not the session.
-- It is made again when missing; no log and no dump tells of it.
CREATE TABLE checkpoint (
  session_id INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  made_for   TEXT NOT NULL,      -- hash of what it depends on besides the events
  next_seq   INTEGER NOT NULL,   -- events from this number on are not in it
  last_event INTEGER NOT NULL,   -- the event that was last in source order
  at         INTEGER,            -- end of the session: the oldest go first
  body       BLOB NOT NULL       -- compressed; of distil/checkpoint.py
) STRICT;

-- It holds as long as its events do, whoever changes them. Another place of the same text in the
-- segments is no change.
CREATE TRIGGER checkpoint_event_changed AFTER UPDATE OF source_id, pos, at, kind, origin, tool,
  tool_class, call_id, is_error, exit_code, files, command, fingerprint, inherited, superseded,
  label, body_len ON event
WHEN (old.source_id, old.pos, old.at, old.kind, old.origin, old.tool, old.tool_class, old.call_id,
  old.is_error, old.exit_code, old.files, old.command, old.fingerprint, old.inherited,
  old.superseded, old.label, old.body_len)
  IS NOT (new.source_id, new.pos, new.at, new.kind, new.origin, new.tool, new.tool_class,
  new.call_id, new.is_error, new.exit_code, new.files, new.command, new.fingerprint, new.inherited,
  new.superseded, new.label, new.body_len)
BEGIN
  DELETE FROM checkpoint WHERE session_id = old.id >> 24;
END;
CREATE TRIGGER checkpoint_event_gone AFTER DELETE ON event BEGIN
  DELETE FROM checkpoint WHERE session_id = old.id >> 24;
END;
-- Files of one session rank by their paths.
CREATE TRIGGER checkpoint_source_renamed AFTER UPDATE OF path ON source WHEN old.path != new.path
BEGIN
  DELETE FROM checkpoint WHERE session_id IN
    (SELECT session_id FROM session_source WHERE source_id = old.id);
END;
