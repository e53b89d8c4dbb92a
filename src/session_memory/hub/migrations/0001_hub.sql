-- Everything a hub holds. Each table is limited by row-level security to one team, and to the
-- projects that the token of a request may see; the settings app.* of the transaction say which.

CREATE FUNCTION hub.app_team() RETURNS integer LANGUAGE sql STABLE
  RETURN nullif(current_setting('app.team', true), '')::integer;
CREATE FUNCTION hub.app_member() RETURNS text LANGUAGE sql STABLE
  RETURN nullif(current_setting('app.member', true), '');
CREATE FUNCTION hub.app_name() RETURNS text LANGUAGE sql STABLE
  RETURN nullif(current_setting('app.name', true), '');
CREATE FUNCTION hub.app_projects() RETURNS integer[] LANGUAGE sql STABLE
  RETURN coalesce(string_to_array(nullif(current_setting('app.projects', true), ''), ',')::integer[],
                  ARRAY[]::integer[]);

-- One row. A restored database gets another epoch, so that laptops pull everything anew.
CREATE TABLE hub.state (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  epoch text NOT NULL DEFAULT gen_random_uuid()::text
);
INSERT INTO hub.state DEFAULT VALUES;

CREATE TABLE hub.team (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  key bytea NOT NULL, -- of the hashes that members' devices make
  made_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE hub.member (
  id text PRIMARY KEY,
  team_id integer NOT NULL REFERENCES hub.team,
  display_name text NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON hub.member (team_id);

CREATE TABLE hub.project (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_id integer NOT NULL REFERENCES hub.team,
  key text NOT NULL,
  UNIQUE (team_id, key)
);

-- Tokens are stored as hashes only. `projects` holds keys; '*' means every project of the team.
CREATE TABLE hub.device (
  id text PRIMARY KEY,
  team_id integer NOT NULL REFERENCES hub.team,
  member_id text NOT NULL REFERENCES hub.member,
  name text NOT NULL,
  token_hash bytea NOT NULL,
  projects text[] NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  seen_on date
);
CREATE INDEX ON hub.device (team_id);

CREATE TABLE hub.invite (
  id text PRIMARY KEY,
  team_id integer NOT NULL REFERENCES hub.team,
  member_id text REFERENCES hub.member, -- a further device of somebody who is a member already
  token_hash bytea NOT NULL,
  projects text[] NOT NULL,
  device_days integer,
  made_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX ON hub.invite (team_id);

-- What each member shares of each project; `level` is null after `unshare`.
CREATE TABLE hub.sharing (
  team_id integer NOT NULL,
  project_id integer NOT NULL REFERENCES hub.project,
  member_id text NOT NULL REFERENCES hub.member,
  level text,
  generation bigint NOT NULL,
  PRIMARY KEY (project_id, member_id)
);

-- The manifest of the last complete push of a device: an equal one has nothing to send.
CREATE TABLE hub.manifest (
  team_id integer NOT NULL,
  project_id integer NOT NULL REFERENCES hub.project,
  device_id text NOT NULL REFERENCES hub.device,
  generation bigint NOT NULL,
  digest text NOT NULL,
  PRIMARY KEY (project_id, device_id)
);

CREATE TABLE hub.session (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_id integer NOT NULL,
  project_id integer NOT NULL REFERENCES hub.project,
  member_id text NOT NULL REFERENCES hub.member,
  key text NOT NULL,
  UNIQUE (project_id, member_id, key)
);

-- One shared thing. Bodies of kind `events` lie encrypted in the object storage: `object`, `start`
-- and `length` say where, and the key of each text lies in the vault under `vault_key`.
CREATE TABLE hub.item (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_id integer NOT NULL,
  project_id integer NOT NULL REFERENCES hub.project,
  member_id text NOT NULL REFERENCES hub.member,
  kind text NOT NULL,
  key text NOT NULL,
  hash text NOT NULL,
  rank bigint NOT NULL,
  session bigint REFERENCES hub.session,
  seq integer,
  at bigint,
  likeness text,
  text bytea NOT NULL, -- UTF-8; PostgreSQL's own texts cannot hold a zero byte
  body bytea,
  object text,
  start bigint,
  length bigint,
  vault_key text,
  -- The transaction that wrote it: a pull shows what was committed before the oldest open one, so
  -- that nothing with a lower number appears behind the cursor later.
  changed bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  UNIQUE (project_id, member_id, key)
);
CREATE INDEX ON hub.item (project_id, changed, id);
CREATE INDEX ON hub.item (session);
CREATE INDEX ON hub.item (project_id, likeness, member_id) WHERE likeness IS NOT NULL;
CREATE INDEX ON hub.item (project_id, kind, at DESC);
CREATE INDEX ON hub.item (object) WHERE object IS NOT NULL;

CREATE TABLE hub.tombstone (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_id integer NOT NULL,
  project_id integer NOT NULL REFERENCES hub.project,
  member_id text NOT NULL REFERENCES hub.member,
  target text NOT NULL CHECK (target IN ('item', 'session', 'member')),
  key text NOT NULL,
  rank bigint NOT NULL,
  items bigint[] NOT NULL DEFAULT '{}', -- numbers of the items it deleted, and names of their keys:
  vault_keys text[] NOT NULL DEFAULT '{}', -- what a proof looks for
  changed bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  UNIQUE (project_id, member_id, target, key)
);
CREATE INDEX ON hub.tombstone (project_id, changed, id);

-- The full-text index. A document is an event (field 1), a turn with the two before it (field 2) or
-- a lesson (field 3). All documents of an item are one run: `seqs` and `lengths` have one element
-- for each. A posting holds every place of a word in a run: (document << 7) + how often, at most 127.
CREATE TABLE hub.run (
  item_id bigint NOT NULL REFERENCES hub.item ON DELETE CASCADE,
  field smallint NOT NULL,
  team_id integer NOT NULL,
  project_id integer NOT NULL,
  session bigint,
  seqs integer[] NOT NULL,
  lengths integer[] NOT NULL,
  documents integer NOT NULL,
  words bigint NOT NULL,
  PRIMARY KEY (item_id, field)
);
CREATE INDEX ON hub.run (project_id, field) INCLUDE (documents, words);

CREATE TABLE hub.posting (
  project_id integer NOT NULL,
  field smallint NOT NULL,
  term text COLLATE "C" NOT NULL,
  item_id bigint NOT NULL, -- no foreign key: checking one for each word takes half of a push
  hits smallint[] NOT NULL,
  PRIMARY KEY (project_id, field, term, item_id)
);
CREATE INDEX ON hub.posting (item_id);

-- What is to be deleted outside of the database, until it is. It names random numbers and hashes.
CREATE TABLE hub.erasure (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  place text NOT NULL CHECK (place IN ('object', 'vault')),
  name text NOT NULL,
  after timestamptz NOT NULL DEFAULT now() -- an upload that is not committed by then is an orphan
);
CREATE INDEX ON hub.erasure (name);

-- Entries of the vault's journal that this database knows of.
CREATE TABLE hub.journal (
  name text PRIMARY KEY
);

CREATE TABLE hub.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  team_id integer,
  device_id text,
  action text NOT NULL,
  project text,
  status integer NOT NULL,
  items integer NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0
);
CREATE INDEX ON hub.audit (team_id, id);

-- Reading is limited to the team and the projects of the token; writing also to its own member.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['sharing', 'session', 'item', 'tombstone'] LOOP
    EXECUTE format('CREATE POLICY reads ON hub.%I FOR SELECT USING (
      team_id = (SELECT hub.app_team()) AND project_id = ANY ((SELECT hub.app_projects())::integer[]))', name);
    EXECUTE format('CREATE POLICY adds ON hub.%I FOR INSERT WITH CHECK (
      team_id = (SELECT hub.app_team()) AND project_id = ANY ((SELECT hub.app_projects())::integer[])
      AND member_id = (SELECT hub.app_member()))', name);
    EXECUTE format('CREATE POLICY changes ON hub.%I FOR UPDATE USING (
      team_id = (SELECT hub.app_team()) AND project_id = ANY ((SELECT hub.app_projects())::integer[])
      AND member_id = (SELECT hub.app_member()))', name);
    EXECUTE format('CREATE POLICY removes ON hub.%I FOR DELETE USING (
      team_id = (SELECT hub.app_team()) AND project_id = ANY ((SELECT hub.app_projects())::integer[])
      AND member_id = (SELECT hub.app_member()))', name);
  END LOOP;
  FOREACH name IN ARRAY ARRAY['manifest', 'run'] LOOP
    EXECUTE format('CREATE POLICY own ON hub.%I USING (
      team_id = (SELECT hub.app_team()) AND project_id = ANY ((SELECT hub.app_projects())::integer[]))', name);
  END LOOP;
END $$;
CREATE POLICY own ON hub.posting USING (project_id = ANY ((SELECT hub.app_projects())::integer[]));
CREATE POLICY own ON hub.team USING (
  id = (SELECT hub.app_team()) OR name = (SELECT hub.app_name()));
CREATE POLICY own ON hub.member USING (team_id = (SELECT hub.app_team()));
CREATE POLICY own ON hub.project USING (team_id = (SELECT hub.app_team()));
-- A device or invite is looked up by the name in its token before the team is known.
CREATE POLICY own ON hub.device USING (
  team_id = (SELECT hub.app_team()) OR id = (SELECT hub.app_name()));
CREATE POLICY own ON hub.invite USING (
  team_id = (SELECT hub.app_team()) OR id = (SELECT hub.app_name()));
CREATE POLICY reads ON hub.audit FOR SELECT USING (team_id = (SELECT hub.app_team()));
CREATE POLICY adds ON hub.audit FOR INSERT WITH CHECK (
  team_id IS NULL OR team_id = (SELECT hub.app_team()));
-- These hold nothing of any team.
CREATE POLICY all_teams ON hub.state USING (true);
CREATE POLICY all_teams ON hub.erasure USING (true);
CREATE POLICY all_teams ON hub.journal USING (true);
