-- How a response was served, where that has a price of its own: fast, batch, flex, priority.
ALTER TABLE usage ADD COLUMN mode TEXT NOT NULL DEFAULT '';
