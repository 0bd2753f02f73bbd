"""Whose cases a caller sees: those of its own tenant, and an operator of the whole server those of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from director_ai.core.identifiers import check_identifier

if TYPE_CHECKING:
    from director_ai.serve.callers import Caller

__all__ = ["chosen_tenant", "is_operator", "own_tenant"]

SHARED: Final = ""
"""The tenant of a key that is bound to none."""


def is_operator(caller: Caller) -> bool:
    """Whether a caller is an administrator of every tenant."""
    return caller.tenant_id == SHARED and "admin" in caller.scopes


def own_tenant(caller: Caller) -> str | None:
    """Return the one tenant whose cases a caller sees; None is all of them."""
    return None if is_operator(caller) else caller.tenant_id


def chosen_tenant(caller: Caller, wanted: str) -> str | None:
    """Return the tenant that a caller chose among those it sees; what it does not see is not chosen."""
    if not is_operator(caller):
        return caller.tenant_id
    return check_identifier("tenant_id", wanted) if wanted else None
