"""The adapter around a presidio analyzer: what it asks, what it makes of the answer, what it refuses."""

from dataclasses import dataclass, field

import pytest

from director_ai.core.checks.rules import Check
from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError, MissingExtra, UnknownOption
from director_ai.validators.presidio import PresidioCheck


@dataclass
class Result:
    start: int
    end: int
    entity_type: str
    score: float


@dataclass
class Words:
    """An analyzer that knows some words, as one of presidio with a list of words does."""

    known: dict[str, tuple[str, float]]
    asked: list[dict[str, object]] = field(default_factory=list)

    def analyze(self, text: str, language: str, **options: object) -> list[Result]:
        self.asked.append({"language": language, **options})
        return [
            Result(text.index(word), text.index(word) + len(word), kind, score)
            for word, (kind, score) in self.known.items()
            if word in text
        ]


TEXT = "Ada met Grace in Paris."


def test_what_the_analyzer_is_sure_of_is_removed() -> None:
    check = PresidioCheck(
        analyzer=Words({"Grace": ("PERSON", 0.8), "Ada": ("PERSON", 0.9), "Paris": ("LOCATION", 0.1)})
    )
    assert isinstance(check, Check)
    assert [(edit.reason, edit.kind, edit.check) for edit in check.find(TEXT)] == [("person", "remove", "presidio")] * 2
    assert merge_edits(TEXT, check.find(TEXT)).text == "[PERSON] met [PERSON] in Paris."


def test_the_options_reach_the_analyzer() -> None:
    words = Words({})
    PresidioCheck(analyzer=words, language="de", entities=("PERSON",), threshold=0.7).find(TEXT)
    PresidioCheck(analyzer=words).find(TEXT)
    assert words.asked == [
        {"language": "de", "entities": ["PERSON"], "score_threshold": 0.7},
        {"language": "en", "entities": None, "score_threshold": 0.4},
    ]


REFUSED = {
    "something that analyzes nothing": ({"analyzer": 3}, ConfigError),
    "a threshold over 1": ({"analyzer": Words({}), "threshold": 2}, ConfigError),
    "entities as one word": ({"analyzer": Words({}), "entities": "PERSON"}, ConfigError),
    "no language": ({"analyzer": Words({}), "language": ""}, ConfigError),
    "an unknown frontier": ({"analyzer": Words({}), "frontier": "page"}, UnknownOption),
}


@pytest.mark.parametrize(("options", "error"), REFUSED.values(), ids=REFUSED)
def test_refuses(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        PresidioCheck(**options)  # type: ignore[arg-type]


def test_presidio_is_an_extra() -> None:
    try:
        import presidio_analyzer  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtra, match=r"pip install '\.\[presidio\]"):
            PresidioCheck()
