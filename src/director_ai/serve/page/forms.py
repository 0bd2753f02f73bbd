"""Forms that a browser sends, read within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from director_ai.errors import PayloadError
from director_ai.serve.bodies import read_body

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["read_form"]

MOST_BYTES: Final = 6 * 1024 * 1024
MOST_FIELDS: Final = 40
_KIND: Final = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form, with line ends as one character; a field that stands twice is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise PayloadError(f"a form is sent as {_KIND}")
    body = await read_body(request, MOST_BYTES)
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise PayloadError("the form cannot be read: it is not UTF-8, or has too many fields") from None
    fields = {name: value.replace("\r\n", "\n") for name, value in pairs}
    if len(fields) != len(pairs):
        raise PayloadError("a field stands twice in the form")
    return fields
