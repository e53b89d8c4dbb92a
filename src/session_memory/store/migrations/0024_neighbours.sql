-- Segments of sessions in a row share a folder from here on, which older programs do not know.
-- Nothing in the database changes: names say which folder they are in, and both kinds are read.
UPDATE meta SET value = value WHERE 0;
