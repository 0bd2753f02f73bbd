"""The documents of one `director-ai facts ingest`: which files they are, and what was made of them."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from director_ai.errors import ConfigError, DirectorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.knowledge.entries import Entry
    from director_ai.knowledge.ingest import Passage
    from director_ai.knowledge.store import GroundTruthStore

__all__ = ["Documents"]


class _Document(NamedTuple):
    source: str
    """Its name below the folder that was given, or its own: the same whoever runs the command, and from where."""
    path: Path
    size: int
    is_named: bool
    """Given by name: then it must be readable. What merely lies in a folder is skipped with the reason."""


class Documents:
    """Files and folders to read, in the order of their names, and what came of it so far."""

    def __init__(self, paths: Sequence[str], *, prefix: str, sentences: int, by: str, kind: str | None) -> None:
        self._prefix, self._sentences, self._by, self._kind = prefix, sentences, by, kind
        self.skipped: list[dict[str, str]] = []
        self.files = 0
        self.passages = 0
        self.read = 0
        """Bytes."""
        self._sources: set[str] = set()
        self._keys: set[str] = set()
        found = sorted(document for path in paths for document in self._documents(path))
        for one, other in pairwise(found):
            if one.source == other.source:
                raise ConfigError(f"two files would be called {one.source!r}; ingest them one by one, with --source")
        self._open = [(document, passages) for document in found if (passages := self._opened(document))]
        self.size = sum(document.size for document, _ in self._open)

    def entries(self) -> Iterator[Entry]:
        """Yield the passages of all documents as facts."""
        from director_ai.knowledge.entries import Entry  # noqa: PLC0415 - keeps `--help` quick

        for document, passages in self._open:
            found = passages if document.is_named else self._whole(document, passages)
            if found is None:
                continue
            count = 0
            for passage in found:
                count += 1
                self._sources.add(passage.source)
                self._keys.add(passage.key)
                yield Entry(
                    key=passage.key, text=passage.text, source=passage.source, start=passage.start, end=passage.end,
                    added_by=self._by,
                )  # fmt: skip
            self.read += document.size
            self.passages += count
            if count:
                self.files += 1
            else:
                self.skipped.append({"file": document.source, "reason": "has no text"})

    def stale(self, store: GroundTruthStore, tenant_id: str) -> Iterator[str]:
        """Yield the keys of facts that came from these documents and stand in them no longer, once all are read."""
        for fact in store.facts(tenant_id):
            if fact.source in self._sources and fact.key not in self._keys:
                yield fact.key

    def _documents(self, name: str) -> Iterator[_Document]:
        if "\0" in name:
            raise ConfigError("a file's name holds no NUL character")
        top = Path(name)
        try:
            if not top.is_dir():
                yield _Document(self._prefix + top.name, top, top.stat().st_size, True)
                return
            for path in _files_below(top):
                source = self._prefix + PurePath(path.relative_to(top)).as_posix()
                yield _Document(source, path, path.lstat().st_size, False)
        except OSError as error:
            raise ConfigError(f"{name!r} cannot be read ({error.strerror or type(error).__name__})") from None

    def _opened(self, document: _Document) -> Iterator[Passage] | None:
        from director_ai.knowledge.ingest import read_passages  # noqa: PLC0415 - keeps `--help` quick

        kind = self._kind if document.is_named else None
        try:
            return read_passages(document.path, source=document.source, sentences=self._sentences, format=kind)
        except DirectorError as error:
            self._skip(document, error)
            return None

    def _whole(self, document: _Document, passages: Iterator[Passage]) -> list[Passage] | None:
        """Return all passages of a document: one that breaks off in the middle leaves nothing behind."""
        try:
            return list(passages)
        except DirectorError as error:
            self._skip(document, error)
            return None

    def _skip(self, document: _Document, error: DirectorError) -> None:
        if document.is_named:
            raise error
        reason = str(error).removeprefix(f"{str(document.path)!r} ").partition(";")[0]
        self.skipped.append({"file": document.source, "reason": reason})


def _files_below(top: Path) -> Iterator[Path]:
    """Yield the files in a folder and its folders; what begins with a dot is hidden, and links to folders may loop."""
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        yield from (Path(folder, each) for each in sorted(files) if not each.startswith("."))
