"""The tables of records and reviews; the migrations make them, these lines are what the queries are built from."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text

__all__ = [
    "API_KEY",
    "AUDIT",
    "CASE",
    "CORRECTION",
    "DECISION",
    "HEAD_REVISION",
    "METADATA",
    "SESSION",
    "SWITCH",
    "VERSION_TABLE",
]

METADATA: Final = MetaData()
VERSION_TABLE: Final = "director_version"
HEAD_REVISION: Final = "0003"
"""The newest of the migrations."""


def _text(name: str, *, empty: bool = False) -> Column[str]:
    return Column(name, Text, nullable=empty)


def _moment(name: str, *, empty: bool = False) -> Column[int]:
    """Microseconds since 1970, in UTC."""
    return Column(name, BigInteger, nullable=empty)


AUDIT: Final = Table(
    "director_audit",
    METADATA,
    Column("tenant", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    _moment("at"),
    _text("kind"),
    _text("subject"),
    _text("body", empty=True),
    _text("body_hash"),
    _text("key"),
    _text("hash"),
    _text("seal"),
    Index("director_audit_subject", "subject", "tenant", "sequence"),
)

CASE: Final = Table(
    "director_review_case",
    METADATA,
    Column("case_id", Text, primary_key=True),
    _text("tenant"),
    _text("request_id"),
    _text("kind"),
    _text("state"),
    _text("reason"),
    _text("proposer_id"),
    _text("policy_id"),
    _text("proposal_id"),
    _text("retry_of"),
    _text("candidate_text", empty=True),
    _text("original_text", empty=True),
    _text("evidence_refs"),
    _text("decision", empty=True),
    _text("details"),
    _text("digest"),
    Column("required_approvals", Integer, nullable=False),
    Column("approvals", Integer, nullable=False),
    _moment("created_at"),
    _moment("expires_at"),
    _text("claimed_by"),
    _moment("claimed_until", empty=True),
    _text("release_id", empty=True),
    _text("released_by"),
    _moment("released_at", empty=True),
    Index("director_review_case_inbox", "tenant", "state", "created_at", "case_id"),
    Index("director_review_case_all", "state", "created_at", "case_id"),
    Index("director_review_case_tenant", "tenant", "created_at", "case_id"),
    Index("director_review_case_age", "created_at", "case_id"),
    Index("director_review_case_due", "state", "expires_at"),
    Index("director_review_case_release", "tenant", "release_id", unique=True),
)

DECISION: Final = Table(
    "director_review_decision",
    METADATA,
    Column("decision_id", Text, primary_key=True),
    _text("case_id"),
    _text("tenant"),
    _text("reviewer_id"),
    _text("action"),
    _text("reason", empty=True),
    _text("digest"),
    _moment("at"),
    Column("audit_sequence", BigInteger, nullable=False),
    Index("director_review_decision_case", "case_id", "audit_sequence"),
)

CORRECTION: Final = Table(
    "director_review_correction",
    METADATA,
    Column("tenant", Text, primary_key=True),
    Column("claim", Text, primary_key=True),
    _text("case_id"),
)

API_KEY: Final = Table(
    "director_api_key",
    METADATA,
    Column("prefix", Text, primary_key=True),
    _text("digest"),
    _text("tenant"),
    _text("scopes"),
    _text("label"),
    Column("shows_evidence", Integer, nullable=False),
    Column("shows_reasoning", Integer, nullable=False),
    _moment("created_at"),
    _moment("expires_at", empty=True),
    _moment("revoked_at", empty=True),
    Index("director_api_key_tenant", "tenant", "created_at", "prefix"),
)

SESSION: Final = Table(
    "director_session",
    METADATA,
    Column("digest", Text, primary_key=True),
    _text("caller"),
    _text("tenant"),
    _text("scopes"),
    Column("shows_evidence", Integer, nullable=False),
    Column("shows_reasoning", Integer, nullable=False),
    _moment("began_at"),
    _moment("seen_at"),
    _moment("ends_at", empty=True),
    Index("director_session_seen", "seen_at"),
)
"""Who is signed in on the page, by the hash of what a cookie holds."""

SWITCH: Final = Table("director_switch", METADATA, Column("tenant", Text, primary_key=True), _moment("at"))
"""Tenants whose answers are switched off; `*` is everybody."""
