-- Responses summed up by session, day and model when a session is distilled, so that the cost of
-- all time is read from a few rows for each session. A session that has none here is summed up when
-- asked; no log and no dump tells of them.
CREATE TABLE usage_sum (
  session_id     INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  day            INTEGER,            -- since 1970; NULL for responses without a time
  model          TEXT NOT NULL,
  mode           TEXT NOT NULL,
  responses      INTEGER NOT NULL,
  input          INTEGER NOT NULL,
  output         INTEGER NOT NULL,
  cache_read     INTEGER NOT NULL,
  cache_write_5m INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  reasoning      INTEGER NOT NULL,
  usd            REAL,
  price_table    TEXT,
  unpriced       INTEGER NOT NULL    -- tokens of responses that have no price
) STRICT;
CREATE INDEX usage_sum_session ON usage_sum (session_id);
INSERT INTO usage_sum
  SELECT session_id, at / 86400000, model, mode, count(*), sum(input), sum(output),
    sum(cache_read), sum(cache_write_5m), sum(cache_write_1h), sum(reasoning), sum(usd),
    max(price_table), sum(CASE WHEN usd IS NULL THEN
      input + output + cache_read + cache_write_5m + cache_write_1h ELSE 0 END)
  FROM usage WHERE counted = 1 GROUP BY session_id, at / 86400000, model, mode;

-- They hold as long as the responses do, whoever changes those.
CREATE TRIGGER usage_sum_added AFTER INSERT ON usage BEGIN
  DELETE FROM usage_sum WHERE session_id = new.session_id;
END;
CREATE TRIGGER usage_sum_changed AFTER UPDATE ON usage BEGIN
  DELETE FROM usage_sum WHERE session_id IN (old.session_id, new.session_id);
END;
CREATE TRIGGER usage_sum_gone AFTER DELETE ON usage BEGIN
  DELETE FROM usage_sum WHERE session_id = old.session_id;
END;
