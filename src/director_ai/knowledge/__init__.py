"""What the guard knows: stores of facts in memory, in an SQLite file or in PostgreSQL, all found the same way."""

from __future__ import annotations

from director_ai.knowledge.conflicts import Conflict
from director_ai.knowledge.entries import Entry
from director_ai.knowledge.store import GroundTruthStore, KnowledgeView, VectorGroundTruthStore
from director_ai.knowledge.tables import DuplicateFact, KnowledgeError, Loaded

__all__ = [
    "Conflict",
    "DuplicateFact",
    "Entry",
    "GroundTruthStore",
    "KnowledgeError",
    "KnowledgeView",
    "Loaded",
    "VectorGroundTruthStore",
]
