"""The audit trail, the inbox of reviews and its decisions.

Revision ID: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

AUDIT_COLUMNS = ("tenant", "sequence", "at", "kind", "subject", "body_hash", "key", "hash", "seal")
DECISION_COLUMNS = ("decision_id", "case_id", "tenant", "reviewer_id", "action", "digest", "at", "audit_sequence")


def upgrade() -> None:
    """Make the tables; what was written to the trail and to the decisions can only be emptied of its text."""
    _make_trail()
    _make_reviews()
    for table, emptied, kept in (
        ("director_audit", "body", AUDIT_COLUMNS),
        ("director_review_decision", "reason", DECISION_COLUMNS),
    ):
        if op.get_bind().dialect.name == "postgresql":
            _guard_postgresql(table, emptied, kept)
        else:
            _guard_sqlite(table, emptied, kept)


def _text(name: str, *, empty: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=empty)


def _moment(name: str, *, empty: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=empty)


def _make_trail() -> None:
    op.create_table(
        "director_audit",
        _text("tenant"),
        sa.Column("sequence", sa.BigInteger, nullable=False, autoincrement=False),
        _moment("at"),
        _text("kind"),
        _text("subject"),
        _text("body", empty=True),
        _text("body_hash"),
        _text("key"),
        _text("hash"),
        _text("seal"),
        sa.PrimaryKeyConstraint("tenant", "sequence"),
        sqlite_with_rowid=False,
    )
    op.create_index("director_audit_subject", "director_audit", ["subject", "tenant", "sequence"])


def _make_reviews() -> None:
    op.create_table(
        "director_review_case",
        sa.Column("case_id", sa.Text, primary_key=True),
        *map(_text, ("tenant", "request_id", "kind", "state", "reason", "proposer_id", "policy_id", "proposal_id")),
        _text("retry_of"),
        _text("candidate_text", empty=True),
        _text("original_text", empty=True),
        _text("evidence_refs"),
        _text("decision", empty=True),
        _text("details"),
        _text("digest"),
        sa.Column("required_approvals", sa.Integer, sa.CheckConstraint("required_approvals > 0"), nullable=False),
        sa.Column("approvals", sa.Integer, nullable=False),
        _moment("created_at"),
        _moment("expires_at"),
        _text("claimed_by"),
        _moment("claimed_until", empty=True),
        _text("release_id", empty=True),
        _text("released_by"),
        _moment("released_at", empty=True),
    )
    for name, columns in (
        ("inbox", ["tenant", "state", "created_at", "case_id"]),
        ("all", ["state", "created_at", "case_id"]),
        ("tenant", ["tenant", "created_at", "case_id"]),
        ("age", ["created_at", "case_id"]),
        ("due", ["state", "expires_at"]),
    ):
        op.create_index(f"director_review_case_{name}", "director_review_case", columns)
    op.create_index("director_review_case_release", "director_review_case", ["tenant", "release_id"], unique=True)
    op.create_table(
        "director_review_decision",
        sa.Column("decision_id", sa.Text, primary_key=True),
        *map(_text, ("case_id", "tenant", "reviewer_id", "action")),
        _text("reason", empty=True),
        _text("digest"),
        _moment("at"),
        sa.Column("audit_sequence", sa.BigInteger, nullable=False),
    )
    op.create_index("director_review_decision_case", "director_review_decision", ["case_id", "audit_sequence"])
    op.create_table(
        "director_review_correction",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("claim", sa.Text, primary_key=True),
        _text("case_id"),
    )


def _guard_sqlite(table: str, emptied: str, kept: tuple[str, ...]) -> None:
    same = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in kept)
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    op.execute(f"CREATE TRIGGER {table}_stays BEFORE DELETE ON {table} {refuse}")
    op.execute(
        f"CREATE TRIGGER {table}_unchanged BEFORE UPDATE ON {table} "
        f"WHEN NOT (NEW.{emptied} IS NULL AND {same}) {refuse}"
    )


def _guard_postgresql(table: str, emptied: str, kept: tuple[str, ...]) -> None:
    same = " AND ".join(f"NEW.{name} IS NOT DISTINCT FROM OLD.{name}" for name in kept)
    op.execute(f"""
        CREATE FUNCTION {table}_guard() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'UPDATE' THEN
                IF NEW.{emptied} IS NULL AND {same} THEN
                    RETURN NEW;
                END IF;
            END IF;
            RAISE EXCEPTION '{table} is append-only';
        END $$
    """)
    op.execute(
        f"CREATE TRIGGER {table}_unchanged BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_guard()"
    )
    op.execute(
        f"CREATE TRIGGER {table}_stays BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {table}_guard()"
    )
