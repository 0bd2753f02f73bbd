"""Plain text: one block, whose paragraphs are apart by blank lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.knowledge.ingest.passages import Block, Run, block_passages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.knowledge.ingest.origin import Origin
    from director_ai.knowledge.ingest.passages import Passage

__all__ = ["read"]


def read(origin: Origin) -> Iterator[Passage]:
    """The passages of a text file."""
    document = origin.text()
    yield from block_passages([Block([Run(document, 0, len(document))])], origin, document)
