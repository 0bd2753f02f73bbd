"""The documents of one `director-ai facts ingest`: which files they are, and what was made of them."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from director_ai.errors import ConfigError, DirectorError, UnknownOption

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
        from director_ai.knowledge.ingest import FORMATS  # noqa: PLC0415 - keeps `--help` quick

        if kind is not None and kind not in FORMATS:
            raise UnknownOption("format", kind, FORMATS)
        self._prefix, self._sentences, self._by, self._kind = prefix, sentences, by, kind
        self.skipped: list[dict[str, str]] = []
        self.files = 0
        self.passages = 0
        self.read = 0
        """Bytes."""
        self.stale: list[str] = []
        """Keys that a dry run would need `--replace` for."""
        self._sources: set[str] = set()
        self._said: dict[str, int] = {}  # by key, the hash of the fact: a long table would not fit into memory
        found = sorted(document for path in paths for document in self._documents(path))
        for one, other in pairwise(found):
            if one.source == other.source:
                raise ConfigError(f"two files would be called {one.source!r}; ingest them one by one, with --source")
        self._open = [(document, passages) for document in found if (passages := self._opened(document))]
        self.size = sum(document.size for document, _ in self._open)
        self.is_empty = not self._open

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
                self._note(document, passage)
                yield Entry(
                    key=passage.key, text=passage.text, source=passage.source, start=passage.start, end=passage.end,
                    added_by=self._by,
                )  # fmt: skip
            self._sources.add(document.source)
            self.read += document.size
            self.passages += count
            if count:
                self.files += 1
            else:
                self.skipped.append({"file": document.source, "reason": "has no text"})

    def outdated(
        self, store: GroundTruthStore, tenant_id: str, *, replace: bool, dry_run: bool = False
    ) -> Iterator[str]:
        """Yield the keys to remove, once all is read: of facts that these documents said before and say no longer.

        Without `replace` the first of them ends the load, since old and new would both be evidence; a dry run notes it.
        """
        for fact in store.facts(tenant_id):
            if fact.start is None or not {fact.source, fact.key.rpartition("#")[0]} & self._sources:
                continue  # from elsewhere, or not from a document at all
            is_said = fact.key in self._said
            if is_said and self._said[fact.key] == hash((fact.text, fact.source, fact.start, fact.end)):
                continue
            if replace:
                if not is_said:
                    yield fact.key
            elif dry_run:
                self.stale.append(fact.key)
            else:
                raise ConfigError(
                    f"the document {fact.source!r} has changed; "
                    "give --replace to let it take the place of what it said before"
                )

    def _note(self, document: _Document, passage: Passage) -> None:
        if passage.key in self._said:
            raise ConfigError(
                f"{document.source!r}, {passage.locator}: an earlier fact of this load has the same key; "
                "give each its own"
            )
        self._said[passage.key] = hash((passage.text, passage.source, passage.start, passage.end))

    def _documents(self, name: str) -> Iterator[_Document]:
        if "\0" in name:
            raise ConfigError("a file's name holds no NUL character")
        top = Path(name)
        try:
            if not top.is_dir():
                yield _Document(self._called(top.name), top, top.stat().st_size, True)
                return
            for path in _files_below(top):
                source = self._called(PurePath(path.relative_to(top)).as_posix())
                if path.is_symlink() and not _place(path).is_relative_to(_place(top)):
                    self.skipped.append({"file": source, "reason": "is a link to outside the folder"})
                    continue
                yield _Document(source, path, path.lstat().st_size, False)
        except OSError as error:
            raise ConfigError(f"{name!r} cannot be read ({error.strerror or type(error).__name__})") from None

    def _called(self, name: str) -> str:
        from director_ai.knowledge.ingest.origin import clean  # noqa: PLC0415 - keeps `--help` quick

        return clean(self._prefix + name).strip()

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


def _place(path: Path) -> Path:
    """Return where a path leads in the end; unlike `Path.resolve`, also for a link that leads to itself."""
    return Path(os.path.realpath(path))


def _files_below(top: Path) -> Iterator[Path]:
    """Yield the files in a folder and its folders; what begins with a dot is hidden, and links to folders may loop."""
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        yield from (Path(folder, each) for each in sorted(files) if not each.startswith("."))
