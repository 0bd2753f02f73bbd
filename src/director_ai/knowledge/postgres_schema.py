"""The tables in PostgreSQL: who owns them, who may see which row, and the statements that change them.

Row-level security is forced: a transaction sees and writes the rows of the tenant that its setting
`director_ai.tenant` names, and without that setting none. The shared facts have the name `*`, which no tenant can
have, because a setting that was never made and one that was taken back both read as empty.

Terms stand in a B-tree of their own rather than under a GIN index: PostgreSQL does not use an operator that could leak
(`@>` is one) ahead of a row-level security policy, and a query for a common term stops after as many rows as it needs.
"""

# ruff: noqa: S608 - the statements are put together from our own words; every value is a parameter

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.errors import ConfigError
from director_ai.knowledge.tables import ALIVE, KnowledgeError

if TYPE_CHECKING:
    import psycopg

__all__ = ["LOCK", "OWN", "ROLE", "SHARED", "WAIT_SECONDS", "prepare", "require_row_security", "usable_role"]

SCHEMA_VERSION = 1
ROLE = "director_ai_reader_writer"
SHARED = "*"
LOCK = 0x6469726563746F72
"""Of the advisory lock that whoever changes facts holds; whoever makes the tables holds the next one."""
OLDEST_PGVECTOR = (0, 8)
PURGE_STEP = 2_000
WAIT_SECONDS = 300
"""For another process that changes something."""

OWN = "tenant = (SELECT number FROM director_ai.tenant WHERE name = current_setting('director_ai.tenant', true))"
"""In the policies, and again in every statement: what one of them forgets the other still holds back."""
SCHEMA = f"""
CREATE SCHEMA director_ai;
CREATE TABLE director_ai.about (name text PRIMARY KEY, value bigint NOT NULL);
CREATE TABLE director_ai.tenant (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
    folded text COLLATE "C" NOT NULL UNIQUE, changed bigint NOT NULL, graph text COLLATE "C" NOT NULL DEFAULT '');
CREATE TABLE director_ai.fact (
    id bigint PRIMARY KEY, tenant integer NOT NULL, key text COLLATE "C" NOT NULL, version integer NOT NULL,
    text text COLLATE "C" NOT NULL, source text COLLATE "C" NOT NULL, start bigint, stop bigint,
    added_at text COLLATE "C" NOT NULL, added_by text COLLATE "C" NOT NULL, born bigint NOT NULL, died bigint NOT NULL,
    died_at text COLLATE "C", words integer NOT NULL, terms text[] COLLATE "C");
CREATE UNIQUE INDEX fact_alive ON director_ai.fact (tenant, key) WHERE died = {ALIVE};
CREATE UNIQUE INDEX fact_key ON director_ai.fact (tenant, key, version);
CREATE INDEX fact_order ON director_ai.fact (tenant, id);
CREATE INDEX fact_rows ON director_ai.fact (tenant, id) INCLUDE (born, died, words) WHERE terms IS NOT NULL;
CREATE INDEX fact_dead ON director_ai.fact (tenant, died_at) WHERE died_at IS NOT NULL AND terms IS NOT NULL;
CREATE TABLE director_ai.posting (tenant integer NOT NULL, term text COLLATE "C" NOT NULL, fact bigint NOT NULL);
CREATE INDEX posting_term ON director_ai.posting (tenant, term, fact);
CREATE TABLE director_ai.vector (
    tenant integer NOT NULL, fact bigint NOT NULL, encoder text COLLATE "C" NOT NULL, born bigint NOT NULL,
    died bigint NOT NULL, value halfvec(384) NOT NULL);
CREATE INDEX vector_fact ON director_ai.vector (tenant, fact);
INSERT INTO director_ai.about VALUES ('schema', {SCHEMA_VERSION}), ('revision', 0), ('last', 0);
ALTER TABLE director_ai.tenant ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY seen ON director_ai.tenant FOR SELECT USING (
    folded = lower(current_setting('director_ai.tenant', true))
    OR current_setting('director_ai.listing', true) = 'on');
CREATE POLICY made ON director_ai.tenant FOR INSERT WITH CHECK (name = current_setting('director_ai.tenant', true));
CREATE POLICY changed ON director_ai.tenant FOR UPDATE USING (name = current_setting('director_ai.tenant', true));
""" + "".join(
    f"""
ALTER TABLE director_ai.{table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON director_ai.{table} USING ({OWN}) WITH CHECK ({OWN});
"""
    for table in ("fact", "posting", "vector")
)
GRANTS = f"""
GRANT USAGE ON SCHEMA director_ai TO {ROLE};
GRANT SELECT, UPDATE ON director_ai.about TO {ROLE};
GRANT SELECT, INSERT, UPDATE ON director_ai.tenant TO {ROLE};
GRANT SELECT, INSERT, UPDATE, DELETE ON director_ai.fact, director_ai.posting, director_ai.vector TO {ROLE};
DO $$ BEGIN
    EXECUTE (SELECT format('GRANT USAGE ON SCHEMA %I TO {ROLE}', nspname)
        FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector');
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;
"""
MAKE_EXTENSION = """
DO $$ BEGIN
    CREATE EXTENSION IF NOT EXISTS vector;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;
"""
MAY_TAKE = (
    f"pg_has_role(current_user, '{ROLE}', "
    "CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)"
)
ROLE_KNOWN = f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"
# Roles belong to the whole server, so another database may be making the same one at this moment.
MAKE_ROLE = f"""
DO $$ BEGIN
    CREATE ROLE {ROLE} NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
END $$;
DO $$ BEGIN
    IF NOT {MAY_TAKE} THEN GRANT {ROLE} TO CURRENT_USER; END IF;
EXCEPTION WHEN undefined_object OR unique_violation OR insufficient_privilege OR internal_error THEN NULL;
END $$;
"""

# What each staged row does, given what stood under its key before it: the row before it in the same load, or the fact.
JUDGE = f"""
INSERT INTO pg_temp.step
WITH line AS (
    SELECT *, row_number() OVER w AS place, lag(text) OVER w AS text_before, lag(source) OVER w AS source_before,
        lag(start) OVER w AS start_before, lag(stop) OVER w AS stop_before
    FROM pg_temp.staged WHERE tenant = %(name)s WINDOW w AS (PARTITION BY key ORDER BY seq)
), compared AS (
    SELECT seq, line.key, line.text, coalesce(text_before, alive.text) AS before,
        line.source IS NOT DISTINCT FROM coalesce(source_before, alive.source)
        AND line.start IS NOT DISTINCT FROM coalesce(start_before, alive.start)
        AND line.stop IS NOT DISTINCT FROM coalesce(stop_before, alive.stop) AS same_place
    FROM line LEFT JOIN director_ai.fact AS alive
        ON place = 1 AND alive.{OWN} AND alive.key = line.key AND alive.died = {ALIVE}
), judged AS (
    SELECT seq, key, CASE
        WHEN text IS NULL AND before IS NULL THEN 'nothing' WHEN text IS NULL THEN 'removed'
        WHEN before IS NULL THEN 'added' WHEN text = before AND same_place THEN 'unchanged' ELSE 'updated' END AS what
    FROM compared
)
SELECT seq, %(name)s, key, what,
    coalesce(known.version, 0)
        + count(*) FILTER (WHERE what IN ('added', 'updated')) OVER (PARTITION BY key ORDER BY seq),
    count(*) FILTER (WHERE what IN ('added', 'updated', 'removed')) OVER (
        PARTITION BY key ORDER BY seq ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) > 0
FROM judged LEFT JOIN LATERAL (
    SELECT version FROM director_ai.fact WHERE {OWN} AND fact.key = judged.key ORDER BY version DESC LIMIT 1
) AS known ON true
"""
END_FACTS = f"""
WITH ended AS (
    UPDATE director_ai.fact SET died = %(revision)s, died_at = %(now)s
    WHERE {OWN} AND died = {ALIVE} AND key IN (
        SELECT key FROM pg_temp.step WHERE tenant = %(name)s AND what IN ('updated', 'removed'))
    RETURNING id
)
UPDATE director_ai.vector SET died = %(revision)s WHERE {OWN} AND fact IN (SELECT id FROM ended)
"""
PUT_FACTS = f"""
INSERT INTO director_ai.fact
SELECT %(last)s + seq, %(number)s, step.key, step.version, text, source, start, stop,
    coalesce(nullif(added_at, ''), %(now)s), added_by, %(revision)s,
    CASE WHEN ended THEN %(revision)s ELSE {ALIVE} END, CASE WHEN ended THEN %(now)s END, words,
    string_to_array(terms, ' ')
FROM pg_temp.step JOIN pg_temp.staged USING (tenant, seq)
WHERE tenant = %(name)s AND what IN ('added', 'updated') ORDER BY seq
"""
PUT_POSTINGS = """
INSERT INTO director_ai.posting
SELECT %(number)s, term, %(last)s + seq
FROM pg_temp.step JOIN pg_temp.staged USING (tenant, seq) CROSS JOIN unnest(string_to_array(terms, ' ')) AS term
WHERE tenant = %(name)s AND what IN ('added', 'updated') ORDER BY term, seq
"""
PUT_VECTORS = f"""
INSERT INTO director_ai.vector
SELECT %(number)s, %(last)s + seq, %(encoder)s, %(revision)s,
    CASE WHEN ended THEN %(revision)s ELSE {ALIVE} END, value
FROM pg_temp.step JOIN pg_temp.staged_vector USING (seq)
WHERE tenant = %(name)s AND what IN ('added', 'updated') ORDER BY seq
"""
PURGE = f"""
WITH dead AS (
    SELECT id, terms FROM director_ai.fact
    WHERE {OWN} AND terms IS NOT NULL AND died_at < %(before)s ORDER BY id LIMIT {PURGE_STEP}
), silent AS (
    DELETE FROM director_ai.posting USING dead CROSS JOIN unnest(dead.terms) AS held
    WHERE posting.{OWN} AND posting.term = held AND posting.fact = dead.id
), blind AS (
    DELETE FROM director_ai.vector USING dead WHERE vector.{OWN} AND vector.fact = dead.id
)
UPDATE director_ai.fact SET terms = NULL FROM dead WHERE fact.{OWN} AND fact.id = dead.id
"""

STAGED_TENANTS = "SELECT tenant, bool_or(text IS NOT NULL) FROM pg_temp.staged GROUP BY tenant ORDER BY min(seq)"
MAKE_TENANT = "INSERT INTO director_ai.tenant (name, folded, changed) VALUES (%(name)s, %(folded)s, 0) RETURNING number"
FIRST_DUPLICATE = """
SELECT (SELECT count(*) FROM pg_temp.step WHERE seq < first.seq AND what IN ('added', 'updated', 'unchanged'))
FROM pg_temp.step AS first WHERE what = 'updated' ORDER BY seq LIMIT 1
"""
FORGET_VECTORS = f"DELETE FROM director_ai.vector WHERE {OWN} AND fact = ANY (%(ids)s::bigint[])"
REPLACE_VECTORS = f"""
INSERT INTO director_ai.vector
SELECT tenant, id, %(encoder)s, born, died, value
FROM pg_temp.staged_vector JOIN director_ai.fact ON id = seq WHERE {OWN} AND terms IS NOT NULL ORDER BY id
"""
COUNT_VECTORS = f"SELECT count(*) FROM director_ai.vector WHERE {OWN} AND encoder = %(encoder)s"
OWNS_VECTORS = """
SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = 'director_ai.vector'::regclass
"""
# An index of all tenants would answer slower the more facts the others have, and miss some of a small tenant's.
BUILD_GRAPH = """
SELECT format('CREATE INDEX IF NOT EXISTS %%I ON director_ai.vector USING hnsw (value halfvec_ip_ops)'
    ' WHERE tenant = %%s AND encoder = %%L', %(name)s::text, %(number)s::int, %(encoder)s::text)
"""
DROP_GRAPH = "SELECT format('DROP INDEX IF EXISTS director_ai.%%I', %(old)s::text)"


def prepare(connection: psycopg.Connection[Any]) -> None:
    """Make the tables of a new database; refuse a schema that is something else, or from a later version."""
    with connection.transaction():
        connection.execute("SELECT set_config('lock_timeout', %s, true)", [f"{WAIT_SECONDS}s"])
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK + 1])
        there, ours = connection.execute(
            "SELECT to_regnamespace('director_ai') IS NOT NULL, to_regclass('director_ai.about') IS NOT NULL"
        ).fetchone() or (False, False)
        if there and not ours:
            raise ConfigError("the database has a schema director_ai that is something else; name another database")
        if not there:
            _require_pgvector(connection)
            connection.execute(SCHEMA)
        version = _value(connection, "SELECT value FROM director_ai.about WHERE name = 'schema'")
        if version > SCHEMA_VERSION:
            raise KnowledgeError(
                f"the knowledge base was written by a later version of director-ai (schema {version}); update"
            )
        if usable_role(connection) is None and _value(
            connection,
            "SELECT pg_has_role(current_user, nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'director_ai'",
        ):
            connection.execute(MAKE_ROLE)
            if _value(connection, ROLE_KNOWN):
                connection.execute(GRANTS)


def _require_pgvector(connection: psycopg.Connection[Any]) -> None:
    offered = _value(connection, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
    if offered is None:
        raise ConfigError("the PostgreSQL server lacks pgvector; install that extension on it, version 0.8 or later")
    connection.execute(MAKE_EXTENSION)
    version = _value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if version is None:
        raise ConfigError(
            "the database lacks pgvector and the user may not add it; let an administrator run CREATE EXTENSION vector"
        )
    if tuple(int(part) for part in str(version).split(".")[:2]) < OLDEST_PGVECTOR:
        raise ConfigError(
            f"the database has pgvector {version}; update it to 0.8 or later (ALTER EXTENSION vector UPDATE)"
        )


def usable_role(connection: psycopg.Connection[Any]) -> str | None:
    """Return the role to take in every transaction, where it exists and the user may take it."""
    if not _value(connection, ROLE_KNOWN) or not _value(connection, f"SELECT {MAY_TAKE}"):
        return None
    granted = _value(connection, f"SELECT has_table_privilege('{ROLE}', 'director_ai.vector', 'DELETE')")
    return ROLE if granted else None


def require_row_security(connection: psycopg.Connection[Any]) -> None:
    """Refuse a user for whom the policies would not hold."""
    if _value(connection, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"):
        raise ConfigError(
            f"the database user stands above row-level security and cannot take the role {ROLE}; "
            "connect as a plain user, or let a user who may create roles open the knowledge base first"
        )


def _value(connection: psycopg.Connection[Any], query: str) -> Any:
    found = connection.execute(query).fetchone()
    return None if found is None else found[0]
