-- A question reads little however much there is: how often a word occurs is counted when it is
-- written, and what scoring needs lies in the index itself.

-- The owner sees every row while they are copied.
ALTER TABLE hub.item NO FORCE ROW LEVEL SECURITY;
ALTER TABLE hub.run NO FORCE ROW LEVEL SECURITY;
ALTER TABLE hub.posting NO FORCE ROW LEVEL SECURITY;

-- A hit is (words of the document << 15) + (document << 7) + how often.
ALTER TABLE hub.posting RENAME TO posting_before;
ALTER INDEX hub.posting_pkey RENAME TO posting_before_pkey;
ALTER INDEX hub.posting_item_id_idx RENAME TO posting_before_item_id_idx;
CREATE TABLE hub.posting (
  project_id integer NOT NULL,
  field smallint NOT NULL,
  term text COLLATE "C" NOT NULL,
  item_id bigint NOT NULL, -- no foreign key: checking one for each word takes half of a push
  session bigint,
  hits integer[] NOT NULL,
  PRIMARY KEY (project_id, field, term, item_id) INCLUDE (session, hits)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02); -- the index alone answers what is vacuumed
INSERT INTO hub.posting
  SELECT p.project_id, p.field, p.term, p.item_id, r.session,
    ARRAY(SELECT (least(r.lengths[(h >> 7) + 1], 65535) << 15) + h FROM unnest(p.hits) AS h)
  FROM hub.posting_before p JOIN hub.run r ON r.item_id = p.item_id AND r.field = p.field;
DROP TABLE hub.posting_before;
CREATE INDEX ON hub.posting (item_id);
CREATE POLICY own ON hub.posting USING (project_id = ANY ((SELECT hub.app_projects())::integer[]));

-- The words of one event in their order: in a row of its own it is read without its neighbours.
CREATE TABLE hub.word_order (
  item_id bigint NOT NULL, -- no foreign key, as above
  number smallint NOT NULL, -- the document within the run
  project_id integer NOT NULL,
  words text NOT NULL,
  PRIMARY KEY (item_id, number)
);
INSERT INTO hub.word_order
  SELECT r.item_id, s.number - 1, r.project_id, s.words
  FROM hub.run r CROSS JOIN LATERAL unnest(r.stems) WITH ORDINALITY AS s (words, number);
ALTER TABLE hub.run DROP COLUMN stems;
CREATE POLICY own ON hub.word_order
  USING (project_id = ANY ((SELECT hub.app_projects())::integer[]));

-- When each document was written, where that is known; else the time of its item counts.
ALTER TABLE hub.run ADD COLUMN times bigint[];

-- In how many documents of a member a word occurs, and how many there are. Each member has rows of
-- its own, which only that member's pushes change: they wait for nobody else's.
CREATE TABLE hub.word (
  project_id integer NOT NULL,
  field smallint NOT NULL,
  term text COLLATE "C" NOT NULL,
  member_id text NOT NULL,
  documents integer NOT NULL,
  PRIMARY KEY (project_id, field, term, member_id)
) WITH (fillfactor = 80);
CREATE TABLE hub.size (
  project_id integer NOT NULL,
  field smallint NOT NULL,
  member_id text NOT NULL,
  documents bigint NOT NULL,
  words bigint NOT NULL,
  PRIMARY KEY (project_id, field, member_id)
);
INSERT INTO hub.word
  SELECT p.project_id, p.field, p.term, i.member_id, sum(cardinality(p.hits))
  FROM hub.posting p JOIN hub.item i ON i.id = p.item_id GROUP BY 1, 2, 3, 4;
INSERT INTO hub.size
  SELECT r.project_id, r.field, i.member_id, sum(r.documents), sum(r.words)
  FROM hub.run r JOIN hub.item i ON i.id = r.item_id GROUP BY 1, 2, 3;
DROP INDEX hub.run_project_id_field_documents_words_idx;
CREATE POLICY own ON hub.word USING (project_id = ANY ((SELECT hub.app_projects())::integer[]));
CREATE POLICY own ON hub.size USING (project_id = ANY ((SELECT hub.app_projects())::integer[]));

-- Whoever adds or deletes index entries is limited to its own member, whose counts they change.
CREATE FUNCTION hub.count_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hub.word AS w (project_id, field, term, member_id, documents)
      SELECT c.project_id, c.field, c.term, hub.app_member(), sum(cardinality(c.hits))
      FROM changed c GROUP BY 1, 2, 3
      ON CONFLICT (project_id, field, term, member_id)
      DO UPDATE SET documents = w.documents + excluded.documents;
    RETURN NULL;
  END IF;
  UPDATE hub.word w SET documents = w.documents - c.documents
    FROM (SELECT project_id, field, term, sum(cardinality(hits)) AS documents
          FROM changed GROUP BY 1, 2, 3) AS c
    WHERE (w.project_id, w.field, w.term, w.member_id)
      = (c.project_id, c.field, c.term, hub.app_member());
  DELETE FROM hub.word w USING changed c
    WHERE (w.project_id, w.field, w.term, w.member_id)
      = (c.project_id, c.field, c.term, hub.app_member()) AND w.documents <= 0;
  RETURN NULL;
END $$;
CREATE TRIGGER adds AFTER INSERT ON hub.posting
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION hub.count_words();
CREATE TRIGGER removes AFTER DELETE ON hub.posting
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION hub.count_words();

CREATE FUNCTION hub.count_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hub.size AS s (project_id, field, member_id, documents, words)
    SELECT c.project_id, c.field, hub.app_member(),
      sum(c.documents) * CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END,
      sum(c.words) * CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END
    FROM changed c GROUP BY 1, 2
    ON CONFLICT (project_id, field, member_id)
    DO UPDATE SET documents = s.documents + excluded.documents, words = s.words + excluded.words;
  RETURN NULL;
END $$;
CREATE TRIGGER adds AFTER INSERT ON hub.run
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION hub.count_documents();
CREATE TRIGGER removes AFTER DELETE ON hub.run
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION hub.count_documents();

ALTER TABLE hub.item FORCE ROW LEVEL SECURITY;
ALTER TABLE hub.run FORCE ROW LEVEL SECURITY;
