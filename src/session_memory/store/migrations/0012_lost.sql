-- 1: the event's raw text was dropped before it was distilled. It is taken in again as soon as a log
-- still has it, unlike an event that a digest stands for.
ALTER TABLE evicted_event ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
CREATE INDEX evicted_event_lost ON evicted_event (session_id) WHERE lost = 1;

-- Until now such events were never read again, and some sessions got digests of no events.
CREATE TEMP TABLE lossy AS SELECT DISTINCT session_id AS id FROM eviction WHERE data_loss = 1;
UPDATE evicted_event SET lost = 1 WHERE session_id IN (SELECT id FROM lossy);
DELETE FROM evicted_digest WHERE session_id IN (SELECT id FROM lossy);
DELETE FROM mined WHERE session_id IN (SELECT session_id FROM digest
  WHERE session_id IN (SELECT id FROM lossy) AND json_extract(body, '$.events') = 0);
DELETE FROM digest WHERE session_id IN (SELECT id FROM lossy)
  AND json_extract(body, '$.events') = 0;
UPDATE session_source SET evicted_to = 0 WHERE session_id IN (SELECT id FROM lossy);
UPDATE source SET size = -1, read_to = 0 WHERE id IN
  (SELECT source_id FROM session_source WHERE session_id IN (SELECT id FROM lossy));
DROP TABLE lossy;
