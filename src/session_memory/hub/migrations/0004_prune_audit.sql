-- Who owns the database may delete old requests of every team; the role that serves may not.
CREATE POLICY owner_reads ON hub.audit FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_prunes ON hub.audit FOR DELETE TO CURRENT_USER USING (true);
CREATE INDEX ON hub.audit (at);
