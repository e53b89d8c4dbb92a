"""Everything a hub holds, in a form that two of them can be compared by."""

from __future__ import annotations

from typing import Any

import psycopg


def owner_of(database: str) -> str:
    """The same database for its superuser, whom no policy limits."""
    return database.replace("session_memory_hub@", "postgres@")


def content(database: str) -> dict[str, list[tuple[Any, ...]]]:
    """Items, tombstones and index entries, without numbers that depend on the order of arrival."""
    with psycopg.connect(owner_of(database)) as connection:
        return {
            "items": connection.execute(
                "SELECT p.key, m.display_name, i.kind, i.key, i.hash, i.rank, s.key, i.text, i.body"
                " FROM hub.item i JOIN hub.project p ON p.id = i.project_id"
                " JOIN hub.member m ON m.id = i.member_id"
                " LEFT JOIN hub.session s ON s.number = i.session ORDER BY 1, 2, 4"
            ).fetchall(),
            "tombstones": connection.execute(
                "SELECT m.display_name, t.target, t.key, t.rank FROM hub.tombstone t"
                " JOIN hub.member m ON m.id = t.member_id ORDER BY 1, 2, 3"
            ).fetchall(),
            "postings": connection.execute(
                "SELECT i.key, q.field, q.term, q.hits FROM hub.posting q"
                " LEFT JOIN hub.item i ON i.id = q.item_id ORDER BY 1, 2, 3"
            ).fetchall(),
            "runs": connection.execute(
                "SELECT i.key, r.field, r.seqs, r.lengths FROM hub.run r"
                " LEFT JOIN hub.item i ON i.id = r.item_id ORDER BY 1, 2"
            ).fetchall(),
            "words": connection.execute(
                "SELECT m.display_name, w.field, w.term, w.documents FROM hub.word w"
                " JOIN hub.member m ON m.id = w.member_id ORDER BY 1, 2, 3"
            ).fetchall(),
        }


def miscounted(database: str) -> list[tuple[Any, ...]]:
    """Words and sizes whose counts are not those of the index entries: none should be."""
    with psycopg.connect(owner_of(database)) as connection:
        return connection.execute(
            "WITH counted AS (SELECT p.project_id, p.field, p.term, i.member_id,"
            "  sum(cardinality(p.hits))::integer AS documents FROM hub.posting p"
            "  LEFT JOIN hub.item i ON i.id = p.item_id GROUP BY 1, 2, 3, 4),"
            " measured AS (SELECT r.project_id, r.field, i.member_id, sum(r.documents)::bigint AS"
            "  documents, sum(r.words)::bigint AS words FROM hub.run r"
            "  JOIN hub.item i ON i.id = r.item_id GROUP BY 1, 2, 3)"
            " SELECT field, term, w.documents, c.documents FROM hub.word w FULL JOIN counted c"
            "  USING (project_id, field, term, member_id)"
            "  WHERE w.documents IS DISTINCT FROM c.documents"
            " UNION ALL SELECT field, NULL, s.documents, m.documents FROM hub.size s"
            "  FULL JOIN measured m USING (project_id, field, member_id)"
            "  WHERE coalesce(s.documents, 0) <> coalesce(m.documents, 0)"
            "  OR coalesce(s.words, 0) <> coalesce(m.words, 0)"
        ).fetchall()


def misplaced(database: str) -> list[tuple[Any, ...]]:
    """Words whose documents, as bits, are not those of their hits: none should be."""
    with psycopg.connect(owner_of(database)) as connection:
        return connection.execute(
            "SELECT term, hits, documents FROM hub.posting WHERE documents IS DISTINCT FROM"
            " CASE WHEN cardinality(hits) > 2 THEN (SELECT bit_or(set_bit(B'0'::bit(256),"
            "  (h >> 7) & 255, 1)) FROM unnest(hits) AS h) END"
        ).fetchall()


def counted(database: str, table: str) -> int:
    """Rows of a table, of all teams."""
    with psycopg.connect(owner_of(database)) as connection:
        row = connection.execute(f"SELECT count(*) FROM hub.{table}").fetchone()
        assert row is not None
        return row[0]
