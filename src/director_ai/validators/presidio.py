"""Whatever a presidio analyzer finds, as edits: for those who have one set up, with its models and recognisers."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from director_ai.core.checks.rules import Frontier, check_frontier
from director_ai.core.merge import Edit
from director_ai.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Analyzer", "PresidioCheck"]


class Analyzer(Protocol):
    """What is used of a `presidio_analyzer.AnalyzerEngine`."""

    def analyze(self, text: str, language: str, **options: Any) -> Iterable[Any]:
        """Return what was found: `start`, `end`, `entity_type` and `score` of each."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PresidioCheck:
    """Removes what a presidio analyzer finds and leaves its type, such as `[PERSON]`."""

    analyzer: Analyzer | None = None
    """An engine that is set up; without one, presidio's own default is built, with its default language model."""
    language: str = "en"
    entities: tuple[str, ...] = ()
    """Types to look for; none named: all that the analyzer knows."""
    threshold: float = 0.4
    """The least score that counts, from 0 to 1; presidio gives bare numbers without context less."""
    frontier: Frontier = "sentence"
    """Recognisers of names read a sentence; for recognisers of patterns alone, so many characters will do."""
    name: str = "presidio"

    def __post_init__(self) -> None:
        check_frontier(self.frontier)
        if not isinstance(self.threshold, int | float) or not 0 <= self.threshold <= 1:
            raise ConfigError("threshold must be a number from 0 to 1")
        if not isinstance(self.entities, tuple) or not all(isinstance(entity, str) for entity in self.entities):
            raise ConfigError("entities must be a tuple of types of presidio")
        for option in ("language", "name"):
            if not isinstance(getattr(self, option), str) or not getattr(self, option):
                raise ConfigError(f"{option} must be a text that is not empty")
        if self.analyzer is None:
            object.__setattr__(self, "analyzer", _default_analyzer())
        elif not callable(getattr(self.analyzer, "analyze", None)):
            raise ConfigError(f"analyzer must have a method analyze, got a {type(self.analyzer).__name__}")

    def find(self, text: str) -> tuple[Edit, ...]:
        """Return a removal for whatever the analyzer is sure enough of."""
        assert self.analyzer is not None  # noqa: S101 - set when this was made
        found = self.analyzer.analyze(
            text=text, language=self.language, entities=list(self.entities) or None, score_threshold=self.threshold
        )
        return tuple(
            Edit(each.start, each.end, f"[{each.entity_type}]", "remove", self.name, each.entity_type.lower())
            for each in sorted(found, key=lambda each: (each.start, each.end))
            if each.score >= self.threshold and each.start < each.end
        )


def _default_analyzer() -> Analyzer:
    try:
        presidio: Any = importlib.import_module("presidio_analyzer")
    except ImportError as missing:
        raise MissingExtra("PresidioCheck", extra="presidio") from missing
    engine: Analyzer = presidio.AnalyzerEngine()
    return engine
