"""Who is signed in on the review page.

Revision ID: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "director_session",
        sa.Column("digest", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("caller", "tenant", "scopes")),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("shows_evidence", "shows_reasoning")),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("began_at", "seen_at")),
        sa.Column("ends_at", sa.BigInteger, nullable=True),
    )
    op.create_index("director_session_seen", "director_session", ["seen_at"])
