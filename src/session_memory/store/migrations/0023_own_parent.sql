-- Logs in which a session is its own parent made it a sub-agent of itself. Those logs are read again.
UPDATE source SET parser_version = 0 WHERE id IN (
  SELECT source_id FROM session_source WHERE session_id IN (
    SELECT id FROM session WHERE parent_external_id = external_id
  )
);
DELETE FROM fact WHERE (name = 'parent' OR name = 'source_kind' AND value = '"subagent"')
  AND session_id IN (SELECT id FROM session WHERE parent_external_id = external_id);
UPDATE session SET parent_external_id = NULL,
  source_kind = CASE source_kind WHEN 'subagent' THEN 'interactive' ELSE source_kind END
WHERE parent_external_id = external_id;
