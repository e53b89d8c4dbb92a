-- `status` tells which logs lacked a part; nearly all lack none, so the index is all but empty.
CREATE INDEX fact_missing_part ON fact (session_id) WHERE name = 'missing_part';
