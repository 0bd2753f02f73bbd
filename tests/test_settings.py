"""Settings of a guard: where they come from, which one wins, what is refused, and that no message holds a value."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.streaming_repair import REDACTED_CLAUSE
from director_ai.errors import ConfigError, MissingExtra, UnknownOption
from director_ai.profiles import PROFILES
from director_ai.settings import CHECKS, OTHER_VARIABLES, GuardSettings
from director_ai.validators import PII, Casing, Checks, Disguise, Links, Secrets

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
NAMES = [field.name for field in fields(GuardSettings)]
SECRET = "hunter2"
TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


def load(source: Any = None, **env: str) -> GuardSettings:
    return GuardSettings.load(source, env={f"DIRECTOR_AI_{name.upper()}": text for name, text in env.items()})


def refusal(make: Callable[[], object]) -> str | None:
    try:
        make()
    except ConfigError as error:
        return str(error)
    return None


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(text: str | bytes, name: str = "guard.toml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


# --- values -------------------------------------------------------------------------------------------------------


def test_without_a_source_the_defaults_stand() -> None:
    assert load() == GuardSettings()
    assert GuardSettings().placeholder == REDACTED_CLAUSE


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        GuardSettings().top_k = 3  # type: ignore[misc]


GOOD = {
    "the profile in any case": ("profile", "Medical", "medical"),
    "a policy": ("policy", "closed", "closed"),
    "the profile's own policy": ("policy", None, None),
    "a whole number as a threshold": ("threshold", 1, 1.0),
    "the lowest threshold": ("repair_threshold", 0, 0.0),
    "the most facts": ("top_k", 20, 20),
    "a path": ("store", Path("facts.db"), "facts.db"),
    "a URL": ("store", "postgres://db/facts", "postgres://db/facts"),
    "a cap of nothing": ("most_redacted", 0, 0),
    "a count that is off": ("most_redacted", "off", "off"),
    "a share that is off": ("most_redacted_share", "off", "off"),
    "the profile's own cap": ("most_redacted_share", None, None),
    "seconds": ("deadline", 3, 3.0),
    "no deadline, by a word": ("deadline", "off", None),
    "no deadline, by None": ("deadline", None, None),
    "checks in a list, disguise put first": ("checks", ["pii", "disguise"], ("disguise", "pii")),
    "no checks": ("checks", [], ()),
    "nothing read ahead": ("read_ahead", 0, 0),
}


@pytest.mark.parametrize(("name", "value", "kept"), GOOD.values(), ids=GOOD)
def test_takes(name: str, value: Any, kept: Any) -> None:
    for settings in (GuardSettings(**{name: value}), load({name: value}), GuardSettings.load(env={}, **{name: value})):
        got = getattr(settings, name)
        assert (got, type(got)) == (kept, type(kept))


BAD = {
    "an unknown profile": ("profile", SECRET),
    "a profile that is no text": ("profile", 3),
    "a number as a switch": ("use_nli", 1),
    "a word as a switch": ("metrics", "true"),
    "an unknown policy": ("policy", SECRET),
    "a list as a policy": ("policy", ["open"]),
    "a threshold above 1": ("threshold", 31.337),
    "a threshold that is NaN": ("threshold", float("nan")),
    "an infinite threshold": ("repair_threshold", float("inf")),
    "a threshold in text": ("threshold", "0.31337"),
    "a truth value as a threshold": ("threshold", True),
    "no facts": ("top_k", 0),
    "too many facts": ("top_k", 31337),
    "half a fact": ("top_k", 3.5),
    "an empty store": ("store", " "),
    "a store of another kind": ("store", f"mysql://root:{SECRET}@db/facts"),
    "a store with capitals in its scheme": ("store", f"PostgreSQL://root:{SECRET}@db/facts"),
    "a store with a NUL": ("store", f"{SECRET}\0"),
    "a store of bytes that are no UTF-8": ("store", f"{SECRET}\udcff"),
    "an unknown search": ("search", SECRET),
    "None as a search": ("search", None),
    "an unknown rewriter": ("rewriter", SECRET),
    "a negative cap": ("most_redacted", -31337),
    "another word as a cap": ("most_redacted", SECRET),
    "a share above 1": ("most_redacted_share", 31.337),
    "a beginning that is off": ("cap_after", "off"),
    "too many continuations": ("most_continuations", 101),
    "a blank placeholder": ("placeholder", " \n"),
    "a long placeholder": ("placeholder", SECRET * 30),
    "no time at all": ("deadline", 0),
    "negative time": ("token_timeout", -31.337),
    "an endless deadline": ("deadline", float("inf")),
    "an unknown check": ("checks", [SECRET]),
    "a check that needs arguments": ("checks", ["length"]),
    "one name as checks": ("checks", "pii"),
    "a check named twice": ("checks", ["pii", "pii"]),
    "two casings": ("checks", ["casing-lower", "casing-upper"]),
    "a check that is no name": ("checks", [["pii"]]),
    "a table of checks": ("checks", {"pii": True}),
}


@pytest.mark.parametrize(("name", "value"), BAD.values(), ids=BAD)
def test_refuses_by_the_name_and_without_the_value(name: str, value: Any) -> None:
    for make in (GuardSettings, lambda **given: load(given), lambda **given: GuardSettings.load(env={}, **given)):
        with pytest.raises(ConfigError) as caught:
            make(**{name: value})
        message = str(caught.value)
        assert message.startswith(f"{name} must be ")
        assert not re.search(f"{SECRET}|31.?337", message)
        assert "\n" not in message


@given(
    name=st.sampled_from(NAMES), value=st.one_of(st.text(), st.integers(), st.floats(), st.lists(st.text()), st.none())
)
def test_any_value_is_kept_or_refused_with_one_sentence(name: str, value: Any) -> None:
    said = refusal(lambda: GuardSettings(**{name: value}))
    assert said is None or said.startswith(f"{name} must be ")
    if said is None:
        settings = GuardSettings(**{name: value})
        assert GuardSettings(**{name: getattr(settings, name)}) == settings


def test_a_slip_of_the_pen_is_answered_with_the_nearest_choice() -> None:
    for name, value, meant in (
        ("profile", "Medcial", "medical"),
        ("rewriter", "qoute", "quote"),
        ("checks", ["secret"], "secrets"),
    ):
        with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
            load({name: value})


def test_each_named_check_needs_no_arguments_and_all_run_together() -> None:
    made = {"disguise": Disguise, "links": Links, "pii": PII, "secrets": Secrets}
    first, *others = [made[name]() for name in CHECKS if name in made]
    assert CHECKS[0] == first.name == "disguise"
    for name in CHECKS[len(made) :]:
        casing = Casing(to=name.removeprefix("casing-"))
        text = Checks([*others, casing], first=[first]).run("ask ada@example.com.").text
        assert text == {"lower": "ask [EMAIL].", "upper": "ASK [EMAIL].", "sentence": "Ask [EMAIL]."}[casing.to]


# --- precedence ---------------------------------------------------------------------------------------------------


def test_a_call_wins_over_the_environment_and_that_over_the_file(file: Any) -> None:
    path = file("top_k = 1\nread_ahead = 1\nmost_continuations = 1\n")
    env = {"DIRECTOR_AI_TOP_K": "2", "DIRECTOR_AI_READ_AHEAD": "2", "PATH": "/bin"}
    settings = GuardSettings.load(path, env=env, top_k=3)
    assert (settings.top_k, settings.read_ahead, settings.most_continuations, settings.early) == (3, 2, 1, True)


@given(st.dictionaries(st.sampled_from(["file", "environment", "call"]), st.integers(1, 20)))
def test_whatever_is_given_the_nearest_one_counts(given_by: dict[str, int]) -> None:
    source = {"top_k": given_by["file"]} if "file" in given_by else None
    env = {"DIRECTOR_AI_TOP_K": str(given_by["environment"])} if "environment" in given_by else {}
    call = {"top_k": given_by["call"]} if "call" in given_by else {}
    wanted = next((given_by[place] for place in ("call", "environment", "file") if place in given_by), 5)
    assert GuardSettings.load(source, env=env, **call).top_k == wanted


def test_the_environment_of_the_process_is_read_unless_another_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIRECTOR_AI_TOP_K", "7")
    assert GuardSettings.load().top_k == 7
    assert GuardSettings.load(env={}).top_k == 5


def test_an_override_of_none_takes_the_profile_s_own_again() -> None:
    assert GuardSettings.load({"threshold": 0.9}, env={}, threshold=None).threshold is None


def test_a_wrong_value_is_refused_even_where_another_one_wins(file: Any) -> None:
    with pytest.raises(ConfigError, match=r"top_k in 'guard.toml'"):
        GuardSettings.load(file("top_k = 0"), env={}, top_k=3)


# --- environment --------------------------------------------------------------------------------------------------

VARIABLES = {
    "yes": ("use_nli", "YES", True),
    "one": ("strict_mode", "1", True),
    "off as a switch": ("use_nli", " off ", False),
    "a figure": ("repair_threshold", "0.9", 0.9),
    "a figure with an exponent": ("threshold", "5e-1", 0.5),
    "a whole number": ("top_k", " 7 ", 7),
    "off as a cap": ("most_redacted", "OFF", "off"),
    "a cap": ("most_redacted_share", ".5", 0.5),
    "off as a limit": ("deadline", "off", None),
    "names with commas": ("checks", "secrets, pii", ("pii", "secrets")),
    "no checks": ("checks", "off", ()),
    "a text as it is": ("placeholder", " [gone] ", " [gone] "),
    "digits as a text": ("placeholder", "123", "123"),
    "nothing": ("deadline", "", 10.0),
}


@pytest.mark.parametrize(("name", "text", "kept"), VARIABLES.values(), ids=VARIABLES)
def test_a_variable_is_read_as(name: str, text: str, kept: Any) -> None:
    got = getattr(load(**{name: text}), name)
    assert (got, type(got)) == (kept, type(kept))


BAD_VARIABLES = {
    "a word as a figure": ("threshold", SECRET),
    "NaN": ("threshold", "nan"),
    "an infinite number of seconds": ("deadline", "inf"),
    "half a count": ("top_k", "5.0"),
    "digits of another script": ("top_k", "٣"),
    "a number of thousands of digits": ("top_k", "1" * 5000),
    "a word as a switch": ("early", SECRET),
    "an empty name among others": ("checks", "pii,,secrets"),
    "the word None": ("threshold", "None"),
}


@pytest.mark.parametrize(("name", "text"), BAD_VARIABLES.values(), ids=BAD_VARIABLES)
def test_a_variable_is_refused_by_its_own_name(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} \(DIRECTOR_AI_{name.upper()}\) must be ") as caught:
        load(**{name: text})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("variable", ["DIRECTOR_AI_TRESHOLD", "DIRECTOR_AI_THRESHOLDS"])
def test_an_unknown_variable_is_refused_with_the_nearest_name(variable: str) -> None:
    with pytest.raises(UnknownOption, match="did you mean 'THRESHOLD'") as caught:
        GuardSettings.load(env={variable: SECRET})
    assert SECRET not in str(caught.value)


def test_variables_of_other_parts_and_programs_are_left_alone() -> None:
    assert (
        GuardSettings.load(env=dict.fromkeys([*OTHER_VARIABLES, "HOME", "director_ai_top_k"], SECRET))
        == GuardSettings()
    )


def test_every_variable_that_the_source_names_is_a_setting_or_one_of_the_others() -> None:
    source = Path(sys.modules["director_ai"].__file__ or "").parent
    named = {
        name for path in source.rglob("*.py") for name in re.findall(r"\bDIRECTOR_AI_[A-Z]\w*", path.read_text("utf-8"))
    }
    assert named <= {f"DIRECTOR_AI_{name.upper()}" for name in NAMES} | OTHER_VARIABLES


# --- files --------------------------------------------------------------------------------------------------------

PLACES = {
    "TOML, at the top": ("a.toml", "top_k = 3"),
    "TOML with CRLF and a byte order mark": ("a.toml", "\ufefftop_k = 3\r\nearly = true\r\n"),
    "TOML, in our table": ("a.toml", "[director_ai]\ntop_k = 3\n[other]\nx = 1"),
    "a pyproject": (
        "pyproject.toml",
        '[project]\nname = "x"\n[tool.director_ai]\ntop_k = 3\n[tool.ruff]\nline-length = 9',
    ),
    "YAML, at the top": ("a.yaml", "top_k: 3"),
    "YAML, in our table": ("a.yml", "director_ai:\n  top_k: 3\nother:\n  x: [1]"),
    "an ending in capitals": ("A.YML", "top_k: 3"),
}


@pytest.mark.parametrize(("name", "text"), PLACES.values(), ids=PLACES)
def test_a_file_is_read_as(file: Any, name: str, text: str) -> None:
    path = file(text, name)
    assert load(path) == load(str(path)) == GuardSettings(top_k=3)


NOTHING = {
    "an empty TOML file": ("a.toml", ""),
    "a TOML comment": ("a.toml", "# nothing yet\n"),
    "an empty YAML file": ("a.yaml", ""),
    "a YAML comment": ("a.yaml", "# nothing yet\n"),
    "an empty YAML document": ("a.yaml", "---\n"),
}


@pytest.mark.parametrize(("name", "text"), NOTHING.values(), ids=NOTHING)
def test_a_file_without_settings_changes_nothing(file: Any, name: str, text: str) -> None:
    assert load(file(text, name)) == GuardSettings()


WORDS = {
    "off is a word": ("deadline: off", "deadline", None),
    "off in quotes too": ("most_redacted: 'off'", "most_redacted", "off"),
    "none is a word": ("rewriter: none", "rewriter", "none"),
    "an exponent without a point": ("threshold: 5e-1", "threshold", 0.5),
    "a list in lines": ("checks:\n  - pii\n  - links", "checks", ("links", "pii")),
    "a text over lines": ("placeholder: >-\n  left\n  out", "placeholder", "left out"),
    "a number in quotes is a text": ("placeholder: '12'", "placeholder", "12"),
    "True with a capital": ("strict_mode: True", "strict_mode", True),
}


@pytest.mark.parametrize(("text", "name", "kept"), WORDS.values(), ids=WORDS)
def test_in_yaml(file: Any, text: str, name: str, kept: Any) -> None:
    assert getattr(load(file(text, "a.yaml")), name) == kept


BOMB = "a: &a [x, x]\n" + "".join(
    f"{key}: &{key} [*{last}, *{last}]\n" for last, key in zip("abcdefgh", "bcdefghi", strict=True)
)
BAD_FILES = {
    "another ending": ("a.json", "{}", "must end in .toml"),
    "no ending": ("guard", "", "must end in .toml"),
    "bytes that are no UTF-8": ("a.toml", b"placeholder = '\xff'", "not UTF-8"),
    "YAML that is no UTF-8": ("a.yaml", "top_k: 3".encode("utf-16"), "not UTF-8"),
    "more than a megabyte": ("a.toml", "#" * 1_000_001, "longer than 1,000,000 bytes"),
    "no TOML": ("a.toml", f"top_k = 3\nstore = {SECRET}", r"not valid TOML \(line 2\)"),
    "no YAML": ("a.yaml", f"top_k: 3\nstore: {SECRET}: x", r"not valid YAML \(line 2\)"),
    "a character that YAML does not know": ("a.yaml", "top_k: \x01", "not valid YAML"),
    "a TOML key twice": ("a.toml", "top_k = 3\ntop_k = 4\n", "a key stands twice"),
    "a YAML key twice": ("a.yaml", "top_k: 3\nearly: true\ntop_k: 3", "twice.* line 3"),
    "a YAML key twice within": ("a.yaml", "director_ai: {top_k: 3, top_k: 3}", "twice"),
    "a key that is a list": ("a.yaml", "? [top_k]\n: 3", "no word"),
    "a YAML tag": ("a.yaml", f"store: !!python/object/apply:os.system ['{SECRET}']", "a tag"),
    "a harmless YAML tag": ("a.yaml", "placeholder: !!str 12", "a tag"),
    "anchors that double": ("a.yaml", BOMB, "an anchor"),
    "an anchor that holds itself": ("a.yaml", "checks: &a [*a]", "an anchor"),
    "an unknown alias": ("a.yaml", f"store: *{SECRET}", "an alias"),
    "two YAML documents": ("a.yaml", "top_k: 3\n---\ntop_k: 4", "more than one document"),
    "YAML lists without end": ("a.yaml", "[" * 100_000, "too deep"),
    "TOML lists without end": ("a.toml", "checks = " + "[" * 100_000, "not valid TOML"),
    "a TOML key without end": ("a.toml", "a." * 400_000 + "b = 1", "more than 32 parts"),
    "a quoted TOML key without end": ("a.toml", "[" + '"\\"" . ' * 100_000 + "b]", "more than 32 parts"),
    "a number of thousands of digits": ("a.toml", "top_k = " + "1" * 5000, "not valid TOML"),
    "a YAML list alone": ("a.yaml", "- top_k", "must hold a table"),
    "a table that is none": ("a.toml", "director_ai = 3", "must be a table"),
    "settings in two places": ("a.toml", "top_k = 3\n[director_ai]\nearly = true", "more than one place"),
    "two tables": ("a.toml", "[director_ai]\n[tool.director_ai]", "more than one place"),
    "a pyproject without us": ("pyproject.toml", "[tool.ruff]\nsrc = []", r"no table \[tool.director_ai\]"),
    "a number in quotes": ("a.toml", "top_k = '3'", "top_k in 'a.toml' must be a whole number"),
    "a date": ("a.toml", "deadline = 2024-01-01", "deadline in 'a.toml' must be seconds"),
    "NaN": ("a.toml", "threshold = nan", "threshold in 'a.toml' must be a number from 0 to 1"),
    "NaN in YAML": ("a.yaml", "threshold: .nan", "threshold in 'a.yaml' must be a number from 0 to 1"),
    "a setting without a value": ("a.yaml", "deadline:\n", "deadline in 'a.yaml' has no value"),
    "a YAML word as a switch": ("a.yaml", "use_nli: yes", "use_nli in 'a.yaml' must be true or false"),
    "a place of another kind": ("a.yaml", f"store: mysql://u:{SECRET}@db", "store in 'a.yaml' must be"),
    "an unknown setting": ("a.toml", f"treshold = '{SECRET}'", "in 'a.toml': 'treshold'; did you mean 'threshold'"),
    "an unknown setting in our table": ("a.yaml", "director_ai: {top-k: 3}", "did you mean 'top_k'"),
    "a number as a key": ("a.yaml", "3: 4", "unknown setting in 'a.yaml'"),
}


@pytest.mark.parametrize(("name", "content", "says"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_is_refused_for(file: Any, name: str, content: str | bytes, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        load(file(content, name))
    message = str(caught.value)
    assert name in message
    assert SECRET not in message
    assert "\n" not in message


def test_a_missing_file_a_folder_and_a_name_with_a_nul_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for name, says in (
        ("none.toml", "there is no file"),
        ("folder.toml", "is no file"),
        ("a\0.toml", "there is no file"),
        ("a" * 300 + ".toml", "cannot be read" if sys.version_info < (3, 14) else "there is no file"),
    ):
        with pytest.raises(ConfigError, match=says) as caught:
            load(tmp_path / name)
        assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("source", [b"guard.toml", 3, ["guard.toml"]], ids=["bytes", "a number", "a list"])
def test_a_source_of_another_kind_is_refused(source: Any) -> None:
    with pytest.raises(ConfigError, match="source must be a path, a mapping or None"):
        load(source)


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="unknown setting 'top'; did you mean 'top_k'"):
        GuardSettings.load(env={}, top=3)


def test_without_pyyaml_a_yaml_file_says_what_to_install(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[yaml\]'"):
        load(file("top_k: 3", "a.yaml"))
    assert load(file("top_k = 3", "a.toml")).top_k == 3


@given(text=st.text(TEXT, min_size=1, max_size=60).filter(str.strip), style=st.sampled_from("'\"|>"))
def test_a_text_in_quotes_is_read_as_it_was_written(
    text: str, style: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "quoted.yaml"
    path.write_text(yaml.safe_dump({"placeholder": text}, default_style=style), "utf-8")
    assert load(path).placeholder == text


@given(st.binary(max_size=60))
def test_any_bytes_are_settings_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    for name in ("any.toml", "any.yaml"):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(content)
        said = refusal(lambda path=path: load(path))
        assert name in said if said is not None else load(path) == GuardSettings()


# --- what is shown ------------------------------------------------------------------------------------------------


def test_what_is_shown_is_plain_and_loads_to_the_same_settings() -> None:
    settings = load(
        {"profile": "legal", "checks": ["pii"], "deadline": "off", "most_redacted": "off", "threshold": 0.7}
    )
    shown = settings.show()
    assert list(shown) == NAMES
    assert {type(value) for value in shown.values()} <= {str, int, float, bool, list, dict, type(None)}
    assert (shown["deadline"], shown["token_timeout"], shown["policy"]) == ("off", "off", None)
    assert load(shown) == settings


MASKED = {
    "a path": ("data/facts.db", "data/facts.db"),
    "no password": ("postgresql://ada@db:5432/facts", "postgresql://ada@db:5432/facts"),
    "a host alone": ("postgresql://db", "postgresql://db"),
    "the local server": ("postgresql:///facts", "postgresql:///facts"),
    "a password": (f"postgres://ada:{SECRET}@db/facts", "postgres://ada:***@db/facts"),
    "a password without a user": (f"postgresql://:{SECRET}@db/facts", "postgresql://:***@db/facts"),
    "several hosts": (f"postgresql://ada:{SECRET}@a:1,[::1]:2/facts", "postgresql://ada:***@a:1,[::1]:2/facts"),
    "a password among the options": (f"postgresql://db/facts?password={SECRET}", "postgresql://db/facts?***"),
    "an escaped name of an option": (f"postgresql://db/facts?pass%77ord={SECRET}", "postgresql://db/facts?***"),
    "an at sign among the options": (f"postgresql://ada:{SECRET}@db/facts?user=a@{SECRET}!", "postgresql://***"),
    "a forgotten host": (f"postgresql://ada:{SECRET}", "postgresql://***"),
    "a slash in the password": (f"postgresql://ada:x/{SECRET}@db/facts", "postgresql://ada:***@db/facts"),
    "a line break": (f"postgresql://ada:x\n{SECRET}@db/facts", "postgresql://ada:***@db/facts"),
}


@pytest.mark.parametrize(("store", "shown"), MASKED.values(), ids=MASKED)
def test_of_a_store_is_shown(store: str, shown: str) -> None:
    settings = GuardSettings(store=store)
    assert settings.store == store
    assert settings.show()["store"] == shown
    assert SECRET not in repr(settings)


@given(st.text(TEXT, min_size=1, max_size=40))
def test_no_part_of_a_password_is_shown(password: str) -> None:
    shown = GuardSettings(store=f"postgresql://ada:{password}@db.example.org:5432/facts").show()["store"]
    assert shown == "postgresql://ada:***@db.example.org:5432/facts"


# --- the page -----------------------------------------------------------------------------------------------------


def test_the_files_on_the_page_say_the_same(file: Any) -> None:
    text = PAGE.read_text("utf-8")
    toml, yaml_text = (
        re.findall(rf"^```{name}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0] for name in ("toml", "yaml")
    )
    settings = load(file(toml, "guard.toml"))
    assert settings == load(file(yaml_text, "guard.yaml")) != GuardSettings()


def test_the_table_on_the_page_holds_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S.*?) \| ", PAGE.read_text("utf-8"), re.MULTILINE))
    words = {None: "profile", True: "`true`", False: "`false`"}
    assert list(rows) == NAMES
    for name, value in GuardSettings().show().items():
        written = words[value] if value is None or isinstance(value, bool) else f"`{value!r}`".replace("'", '"')
        written = "none" if name in {"judge", "judge_url"} else written
        assert rows[name] == written, name
    assert all(f"`{name}`" in PAGE.read_text("utf-8") for name in [*PROFILES, *CHECKS])
