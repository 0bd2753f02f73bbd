"""API keys, and the switches that end the streams of a tenant.

Revision ID: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "director_api_key",
        sa.Column("prefix", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("digest", "tenant", "scopes", "label")),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("shows_evidence", "shows_reasoning")),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("revoked_at", sa.BigInteger, nullable=True),
    )
    op.create_index("director_api_key_tenant", "director_api_key", ["tenant", "created_at", "prefix"])
    op.create_table(
        "director_switch",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
