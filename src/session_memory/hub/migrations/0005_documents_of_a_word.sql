-- Which documents of an item hold a word, one bit for each: documents with every word of a question
-- are found by comparing these. Null for one or two of them, which the hits tell as quickly.
ALTER TABLE hub.posting NO FORCE ROW LEVEL SECURITY;
ALTER TABLE hub.posting ADD COLUMN documents bit(256);
UPDATE hub.posting SET documents =
  (SELECT bit_or(set_bit(B'0'::bit(256), (h >> 7) & 255, 1)) FROM unnest(hits) AS h)
  WHERE cardinality(hits) > 2;
ALTER TABLE hub.posting DROP CONSTRAINT posting_pkey;
ALTER TABLE hub.posting ADD PRIMARY KEY (project_id, field, term, item_id)
  INCLUDE (session, hits, documents);
