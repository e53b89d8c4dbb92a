-- What months are compared by, without reading whole digests: the queries of listings.py use these
-- very expressions, so that the index alone answers them.
CREATE INDEX digest_figures ON digest (
  session_id, outcome, json_extract(body, '$.first_at'), json_extract(body, '$.calls_before_edit'),
  json_array_length(body, '$.errors'), json_extract(body, '$.cost.usd')
);
-- Responses by session and day: sessions, months and years are summed up by reading neighbours.
CREATE INDEX usage_figures ON usage (
  session_id, at / 86400000, model, mode, at, input, output, cache_read, cache_write_5m,
  cache_write_1h, reasoning, usd, price_table
) WHERE counted = 1;
