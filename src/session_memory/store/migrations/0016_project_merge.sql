-- Projects that the user said are one: sessions of the first are in the second until that is undone.
CREATE TABLE project_merge (
  project_id INTEGER PRIMARY KEY REFERENCES project (id) ON DELETE CASCADE,
  target_id  INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX project_merge_target ON project_merge (target_id);

-- The project that was found for a session, where it is in another one since a merge.
ALTER TABLE session ADD COLUMN found_project_id INTEGER REFERENCES project (id);
CREATE INDEX session_found_project ON session (found_project_id)
  WHERE found_project_id IS NOT NULL;

-- The key that was found for a project, where the user gave it another name.
ALTER TABLE project ADD COLUMN found_key TEXT;
