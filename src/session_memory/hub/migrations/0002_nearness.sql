-- The words of each event in their order: words that stand side by side in a question and in an
-- event make it the better hit. Of events alone; null for turns and lessons.
ALTER TABLE hub.run ADD COLUMN stems text[];
