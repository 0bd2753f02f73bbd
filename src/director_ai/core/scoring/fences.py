"""What stands in a fence: program text, which is not judged, or prose, which is."""

from __future__ import annotations

import re
from typing import Final

from director_ai.core.grammar import words

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
_TEXTS: Final = words("text txt md markdown plain plaintext plain-text quote quotation none email letter note message")
_FENCE = re.compile(r"[\s>]*+(?:(?:[-*+]|\d{1,3}[.)])\s++)?(`{3,}+|~{3,}+)([^\n\r]*+)(?:\r?\n|\Z)")
_MARKS = re.compile(r"`{3,}|~{3,}")
_LANGUAGE = re.compile(r"\s*+\{?\.?(?:lang(?:uage)?-)?([\w#+.-]*+)[},]?")
_OF_PROGRAM = re.compile(r"[={}\[\]:/\\]|\.\w")
_PLAIN_WORD = re.compile(r"[^\W\d_]{2,}+(?![\w(=.]\w)")
_TOKEN = re.compile(r"\S*\w\S*")
_COMMENT = re.compile(r"\s*+(?:#|//|/\*|\*|--|<!--|%)")
_CODE_LINE = re.compile(
    r"\s*+(?:[\w.\[\]'\"$]++\s*+(?:[-+*/|:%]|\*\*)?=(?!=)|"  # an assignment
    r"(?:import|from\s\S+\simport|return|def|class|public|private|static|const|let|var|func|fn|function|package|using|"
    r"namespace|struct|enum|async|await|elif|except|raise|yield|pass|break|continue|end|fi|done|esac|export)\b(?!,)|"
    r"(?:if|for|while|else|try|finally|switch|case|with|do)\b[^\n]*[:{]\s*+\Z|"
    r"(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN|GROUP|ORDER|VALUES|SET|WITH)\s|"
    r"(?:\$|%|>>>|\.\.\.|PS>|C:\\>|In\s\[)\s*+\S|"
    r"(?:sudo|npm|npx|yarn|pnpm|pip3?|pipx|git|cd|ls|curl|wget|docker|kubectl|python3?|node|apt|apt-get|brew|cargo|"
    r"conda|echo|mkdir|cat|ssh|scp|chmod|rm|cp|mv|tar|helm|terraform)\s|"
    r"[\"'][\w .-]{1,60}+[\"']\s*+:|(?:-\s)?[a-z][\w.-]*+:(?:\s++\S++)?\s*+\Z|[{}()\[\];,]++\s*+\Z|@\w|#include|"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|Traceback|\s{2,}at\s\w|[├└│┌┐─+|]++[-─=+|]{3})"
)
_CODE_SIGN = re.compile(
    r"[{};\\]\s*+\Z|[A-Za-z_][\w.]*+\((?!s\)|es\))|==|!=|=>|->|\+=|&&|::|</?[a-zA-Z][^<>]{0,80}>|"
    r"\b[A-Za-z]++\d*+_[A-Za-z]|\s--?[a-z][\w-]*+(?:[\s=]|\Z)|(?:\A|\s)(?:\.{1,2}|~)?/[\w.-]++/|\$\{|\$\(|%[sd]\b"
)


def opening_of(clause: str) -> int:
    """Return where what a fence says begins, behind its marks and the name of a kind of text; 0 without one."""
    fence = _fence_of(clause)
    if fence is None:
        return 0
    language, said = _stated_behind(fence[2])
    is_bare = not said and (language in _TEXTS or not fence[2].strip())
    return fence.end() if is_bare and fence.end() < len(clause) else fence.end(1)


def closing_of(clause: str, end: int) -> int:
    """Return where what a fence says ends, before the quote marks of the line that closes it."""
    return len(clause[:end].rstrip("> \t\r\n")) if _MARKS.search(clause, end) else end


def prose_in_fence(clause: str) -> str:
    """Return what of a fence, or of a piece of one, is to be judged: nothing where it is program text."""
    fence = _fence_of(clause)
    language, said = _stated_behind(fence[2]) if fence else ("", "")
    held = clause[fence.end() :] if fence else clause
    if language in _PROGRAMS or (language not in _TEXTS and not _reads_as_prose(held)):
        held = ""
    return _MARKS.sub(" ", f"{said}\n{held}" if said else held)


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
