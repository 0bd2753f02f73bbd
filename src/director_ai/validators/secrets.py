"""Keys, tokens and passwords in what a model says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from director_ai.core.checks.rules import check_name
from director_ai.core.merge import Edit
from director_ai.errors import ConfigError, UnknownOption
from director_ai.validators.secret_patterns import SECRETS, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SECRET_KINDS", "Secrets"]

SECRET_KINDS: Final = tuple(dict.fromkeys(secret.kind for secret in SECRETS))
"""All that can be looked for."""
_FRONTIER: Final = 64
"""The user and the password of a connection string; whatever goes on for longer reaches the end of its window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Removes keys and passwords and leaves a typed placeholder, such as `[API_KEY]` or `[PRIVATE_KEY]`.

    Keys of providers are told by their prefixes, passwords by what they are assigned to; hashes, identifiers and
    addresses are left alone. A key in a block goes up to its last line, or to the end of the text if there is none.
    """

    kinds: tuple[str, ...] = SECRET_KINDS
    """What is looked for, out of `SECRET_KINDS`."""
    name: str = "secrets"
    _secrets: tuple[Secret, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.kinds, list | tuple) or not all(isinstance(kind, str) for kind in self.kinds):
            raise ConfigError(f"kinds must be a list of words, such as {SECRET_KINDS[:2]}")
        if not self.kinds:
            raise ConfigError("kinds must name at least one kind of secret")
        object.__setattr__(self, "kinds", tuple(self.kinds))
        for kind in self.kinds:
            if kind not in SECRET_KINDS:
                raise UnknownOption("kind of secret", kind, SECRET_KINDS)
        check_name(self.name)
        object.__setattr__(self, "_secrets", tuple(secret for secret in SECRETS if secret.kind in self.kinds))

    @property
    def frontier(self) -> int:
        """How many characters it needs around a place."""
        return _FRONTIER

    def find(self, text: str) -> tuple[Edit, ...]:
        """Return a removal for each secret, in the order of the text, each place once."""
        taken: list[Edit] = []
        end = 0
        for edit in sorted(self._all(text), key=lambda edit: (edit.start, -edit.end)):
            if edit.end > end:  # what lies inside another one adds nothing
                taken.append(edit)
                end = edit.end
        return tuple(taken)

    def _all(self, text: str) -> Iterator[Edit]:
        low = text.lower()
        for secret in self._secrets:
            if not any(hint in low for hint in secret.hints):
                continue
            for found in secret.pattern.finditer(text):
                if secret.holds(found["it"]):
                    yield Edit(*found.span("it"), secret.placeholder, "remove", self.name, secret.kind)
