"""What stands in a fence: program text is not judged; prose, data, and the sentences in comments and strings are.

The language that a fence names is a hint and no proof: prose behind "```python" is prose.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Final

from director_ai.core.grammar import words

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["closing_of", "opening_of", "prose_in_fence"]

_PROGRAMS: Final = words(
    # programming
    "ada asm assembly awk basic c c# c++ cc clj clojure cob cobol coffee coffeescript cpp cs csharp cuda cxx d dart "
    "delphi elixir elm erl erlang ex f# fortran fs fsharp gdscript glsl go golang groovy h haskell hcl hlsl hpp hs "
    "java javascript jinja jinja2 jl js jsx julia kotlin kt lisp lua m matlab mjs mojo nim objc objective-c ocaml pas "
    "pascal perl php pl powershell ps1 prolog py py3 pycon pyi python python3 r racket rb regex rs ruby rust scala "
    "scheme sol solidity swift tcl ts tsx typescript v vala vb vba vbnet verilog vhdl wasm wat zig "
    # markup and styles
    "asciidoc css django handlebars htm html jsonld latex less liquid mathml mermaid math plantuml puml sass scss "
    "svelte svg tex twig vue xhtml xml xsl xslt dot graphviz "
    # shells and what they print
    "bash bat batch cmd console csh fish ksh log logs output powershell-session ps pwsh sh sh-session shell "
    "shell-session shellsession stdout terminal traceback zsh "
    # queries
    "cypher graphql gql kql mongodb mysql pgsql plpgsql plsql postgres postgresql promql sparql sql sqlite tsql "
    # data and settings
    "apache cfg cmake conf csv diff docker docker-compose dockerfile dotenv editorconfig env geojson gitignore hosts "
    "http ics ini json json5 jsonc jsonl jsonlines kdl makefile ndjson nginx nix patch plist properties proto "
    "protobuf rego reg systemd terraform tf toml tsv vcard yaml yml"
)
_DATA: Final = words("cfg conf env ini properties toml yaml yml")
_TABLES: Final = words("csv tsv")
_ENTRY = re.compile(r"[\s-]*([A-Za-z][\w .-]{0,60}?)\s*[:=]\s*(\S.*)\Z")
_STRING = re.compile(r"[\"']([^\"'\n]{12,400})[\"']")
_BETWEEN_TAGS = re.compile(r">([^<>\n]{12,400})<")
_LAST_COMMENT = re.compile(r"\s(?:#|//|--)\s([^\n]{12,400})\Z")
_AMOUNT = re.compile(r"\d+\s*(?:%|[A-Za-z€$£])|[€$£]\s*\d|\d{2,}")
_NAME = re.compile(r"[a-z,] [A-Z][a-z]+(?: [A-Z][a-z]+)+")
_STATES = re.compile(rf"[.!?]\s*\Z|{_AMOUNT.pattern}|{_NAME.pattern}")
_SENTENCE: Final = 3
_MOST_ENTRIES: Final = 200
_TEXTS: Final = words("text txt md markdown plain plaintext plain-text quote quotation none email letter note message")
_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(`{3,}(?!`)|~{3,}(?!~))([^\n\r]*)(?:\r?\n|\Z)")
_MARKS = re.compile(r"`{3,}|~{3,}")
_LANGUAGE = re.compile(r"\s*\{?\.?(?:lang(?:uage)?-)?([\w#+.-]*)[},]?")
_OF_PROGRAM = re.compile(r"[={}\[\]:/\\]|\.\w")
_PLAIN_WORD = re.compile(r"[^\W\d_]{2,}(?![^\W\d_]|[\w(=.]\w)")
_TOKEN = re.compile(r"\S*\w\S*")
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|<!--|%)")
_CODE_LINE = re.compile(
    r"\s*(?!\s)(?:[\w.\[\]'\"$]+\s*(?:[-+*/|:%]|\*\*)?=(?!=)|"  # an assignment
    r"(?:import|from\s\S+\simport|return|def|class|public|private|static|const|let|var|func|fn|function|package|using|"
    r"namespace|struct|enum|async|await|elif|except|raise|yield|pass|break|continue|end|fi|done|esac|export)\b(?!,)|"
    r"(?:if|for|while|else|try|finally|switch|case|with|do)\b[^\n]*[:{]\s*\Z|"
    r"(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN|GROUP|ORDER|VALUES|SET|WITH)\s|"
    r"(?:\$|%|>>>|\.\.\.|PS>|C:\\>|In\s\[)\s*\S|"
    r"(?:sudo|npm|npx|yarn|pnpm|pip3?|pipx|git|cd|ls|curl|wget|docker|kubectl|python3?|node|apt|apt-get|brew|cargo|"
    r"conda|echo|mkdir|cat|ssh|scp|chmod|rm|cp|mv|tar|helm|terraform)\s|"
    r"[\"'][\w .-]{1,60}[\"']\s*:|(?:-\s)?[a-z][\w.-]*:(?:\s+\S+)?\s*\Z|[{}()\[\];,]+\s*\Z|@\w|#include|"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|Traceback|\s{2,}at\s\w|[├└│┌┐─+|]+(?![├└│┌┐─+|])[-─=+|]{3})"
)
_CODE_SIGN = re.compile(
    r"[{};\\]\s*\Z|[A-Za-z_][\w.]*\((?!s\)|es\))|==|!=|=>|->|\+=|&&|::|</?[a-zA-Z][^<>]{0,80}>|"
    r"\b[A-Za-z]+\d*_[A-Za-z]|\s--?[a-z][\w-]*(?:[\s=]|\Z)|(?:\A|\s)(?:\.{1,2}|~)?/[\w.-]+/|\$\{|\$\(|%[sd]\b"
)


def opening_of(clause: str) -> int:
    """Return where what a fence says begins, behind its marks and the name of a kind of text; 0 without one."""
    fence = _fence_of(clause)
    if fence is None:
        return 0
    language, said = _stated_behind(fence[2])
    is_bare = not said and (language in _TEXTS | _PROGRAMS or not fence[2].strip())
    return fence.end() if is_bare and fence.end() < len(clause) else fence.end(1)


def closing_of(clause: str, end: int) -> int:
    """Return where what a fence says ends, before the quote marks of the line that closes it."""
    return len(clause[:end].rstrip("> \t\r\n")) if _MARKS.search(clause, end) else end


def prose_in_fence(clause: str) -> str:
    """Return what of a fence, or of a piece of one, is to be judged: nothing if it is only program text."""
    fence = _fence_of(clause)
    language, said = _stated_behind(fence[2]) if fence else ("", "")
    held = _MARKS.sub(" ", clause[fence.end() :] if fence else clause)
    if language not in _TEXTS and (data := _data_in(held, language)):
        found = data
    elif language in _TEXTS or (language not in _PROGRAMS and _reads_as_prose(held)):
        found = held
    elif _reads_as_prose(held):
        found = "\n".join(line for line in held.split("\n") if _STATES.search(line))
    else:
        found = "\n".join(_sentences_in_program(held))
    return f"{said}\n{found}" if said else found


def _data_in(text: str, language: str) -> str:
    """Return the entries of JSON, YAML, CSV and settings, one a line, as "key: value"."""
    if language in _TABLES:
        rows = [
            [cell.strip() for cell in line.split("\t" if "\t" in line else ",")]
            for line in text.split("\n")
            if line.strip()
        ]
        heads, *rest = rows or [[]]
        return "\n".join(
            ", ".join(f"{head}: {cell}" for head, cell in zip(heads, row, strict=False) if cell) + "." for row in rest
        )
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        return "\n".join(itertools.islice(_entries(value, ""), _MOST_ENTRIES))
    if language not in _DATA:
        return ""
    found = (_ENTRY.match(line) for line in text.split("\n"))
    return "\n".join(f"{_words_of_key(entry[1])}: {entry[2]}." for entry in found if entry)


def _entries(value: object, key: str) -> Iterator[str]:
    """Yield what JSON states, each value with the key it stands under."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _entries(inner, f"{key} {_words_of_key(str(name))}".strip())
    elif isinstance(value, list):
        for inner in value:
            yield from _entries(inner, key)
    elif value is not None and str(value).strip():
        yield f"{key}: {value}." if key else f"{value}."


def _words_of_key(name: str) -> str:
    return re.sub(r"[_.-]+|(?<=[a-z])(?=[A-Z])", " ", name).strip().lower()


def _sentences_in_program(text: str) -> Iterator[str]:
    """Yield the comments, strings and contents of tags that state something rather than describe the program."""
    for line in text.split("\n"):
        comment = _COMMENT.match(line)
        pieces = [line[comment.end() :]] if comment else [*_STRING.findall(line), *_BETWEEN_TAGS.findall(line)]
        pieces += [found[1]] if (found := _LAST_COMMENT.search(line)) else []
        for piece in pieces:
            said = piece.strip(" \t*/#-<>!\"'")
            if len(_PLAIN_WORD.findall(said)) >= _SENTENCE and (_AMOUNT.search(said) or _NAME.search(said)):
                yield f"{said.rstrip('.')}."


def _fence_of(clause: str) -> re.Match[str] | None:
    fence = _FENCE.match(clause)
    return None if fence is None or (fence[1][0] == "`" and "`" in fence[2]) else fence


def _stated_behind(info: str) -> tuple[str, str]:
    """Return the language named behind the marks of a fence, and words that are more than its settings."""
    named = _LANGUAGE.match(info)
    language = named[1].lower() if named else ""
    said = info[named.end() :] if named and language in _PROGRAMS | _TEXTS else info
    return language, said if _says_something(said) else ""


def _says_something(info: str) -> bool:
    """Whether what stands behind the marks of a fence is more than a language and its settings."""
    return len(_TOKEN.findall(info)) > 1 and not _OF_PROGRAM.search(info.rstrip(" .:"))


def _reads_as_prose(text: str) -> bool:
    """Whether a text is made of words rather than of the signs of a program."""
    programmed = said = beside = 0
    for line in text.splitlines():
        count = len(_TOKEN.findall(line))
        if _MARKS.match(line.lstrip(" \t>")):
            said += count if count > 1 else 0
        elif _COMMENT.match(line):
            beside += count
        elif _CODE_LINE.match(line) or _CODE_SIGN.search(line):
            programmed += max(count, 1)
        elif _PLAIN_WORD.search(line):
            said += count
    said += 0 if programmed else beside
    is_value = said == 2 and any(char.isdigit() for char in text)  # "95 euros"
    return (said > 2 or is_value) and 2 * programmed <= said
