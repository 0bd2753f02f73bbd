"""Files that commands write: there whole, or as they were before."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["written"]


@contextlib.contextmanager
def written(name: str) -> Iterator[TextIO]:
    """Lend a file that stands there whole when all went well; otherwise what was there before stays."""
    if "\0" in name:
        raise ConfigError("a file's name holds no NUL character")
    try:
        path = Path(name).resolve()
        if path.is_dir():
            raise ConfigError(f"{name!r} is a folder; give the name of a file in it")
        if path.exists() and not path.is_file():  # a pipe or a device
            with path.open("w", encoding="ascii") as stream:
                yield stream
            return
        part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
        try:
            with part.open("x", encoding="ascii") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{name!r} cannot be written ({error.strerror or type(error).__name__})") from None
