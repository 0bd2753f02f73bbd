"""Who asks: a tenant by its key, and what the key allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, get_args

from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

__all__ = ["SCOPES", "Authenticator", "Caller", "NotAuthenticated", "Scope"]

Scope = Literal["proxy", "reviewer", "admin"]
SCOPES: Final[tuple[str, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever sent a request."""

    caller_id: str
    """Stands in records: a key's prefix or a token's subject; never the key."""
    tenant_id: str
    scopes: frozenset[str]
    shows_evidence: bool = False
    """Whether it may see the text of evidence."""
    shows_reasoning: bool = False
    """Whether it may see the model's reasoning."""


class NotAuthenticated(DirectorError):
    """There is no key, no valid one, or not one for this; `status` is 401 or 403."""

    def __init__(self, message: str, *, status: int = 401) -> None:
        super().__init__(message)
        self.status = status


class Authenticator(Protocol):
    """The one function that every route asks."""

    async def __call__(self, connection: HTTPConnection, scope: Scope) -> Caller:
        """Return who sent a request, or refuse it."""
        ...

    async def still_valid(self, caller: Caller) -> bool:
        """Whether the key of a stream that is open was not revoked since."""
        ...

    def ends_at(self, caller: Caller) -> float | None:
        """Return when the token of a caller ends that came here with one; None for a key."""
        ...
