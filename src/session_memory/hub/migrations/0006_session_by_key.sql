-- A session is named by the beginning of its key.
CREATE INDEX ON hub.session (key COLLATE "C");
