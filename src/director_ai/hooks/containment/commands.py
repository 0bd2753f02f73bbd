"""Commands of a shell that go over the network, and the hosts that they are given."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from director_ai.hooks.containment.addresses import DOTTED, Mention, hosts_of_number
from director_ai.hooks.containment.spelling import decodings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["begins_command", "hosts_of_command"]

_GOING_OUT: Final = frozenset(
    """
    curl wget ssh scp sftp rsync telnet nc ncat netcat ping ping6 ftp dig nslookup nmap psql mysql redis-cli mongo
    mongosh
    """.split()
)
_NETWORK_COMMAND: Final = re.compile(
    rf"(?<![\w.-])(?:{'|'.join(sorted(_GOING_OUT, reverse=True))})\s[^\n|;&]{{1,2000}}"
)
_FILES: Final = frozenset(
    """
    bin bz2 cfg conf crt css csv dat db gz html ini jpg js json jsonl key log md out parquet pdf pem php png pub py rb
    sh sql svg tar tgz toml ts txt xml yaml yml zip
    """.split()
)
"""What words with a dot end in that are files."""
_FIGURE: Final = re.compile(
    r"(?<!\S)--(?:max-filesize|limit-rate|speed-limit|continue-at|range|quota|start-pos)[\s=]\s{0,4}[0-9]{1,20}(?!\S)"
)
"""Options whose number is a size."""
_CONTINUED: Final = re.compile(r"\\\r?\n")
_STEP: Final = re.compile(r"[\n;|&(){}`]")
_WRAPPERS: Final = frozenset(
    "sudo doas env nohup time timeout nice exec command xargs if then else do while until ! sh bash zsh dash".split()
)
"""What stands before the program that is run."""
_FIRST: Final = {
    "ssh": "BbcDEeFIiJLlmOopQRSWw",
    "sftp": "BbcDFiJloPRSs",
    "telnet": "elnSX",
    "ftp": "",
    "ping": "cIilMmpQSsTtWw",
    "ping6": "cIilMmpQSsTtWw",
    "nc": "cegGiIopPqsTVwWxX",
    "ncat": "cegGiIopPqsTVwWxX",
    "netcat": "cegGiIopPqsTVwWxX",
}
"""Programs whose first word is a host, and their options that take a word."""
_BY_OPTION: Final = frozenset({"psql", "mysql", "redis-cli", "mongo", "mongosh", "pg_dump", "mysqldump"})
_COPYING: Final = frozenset({"scp", "rsync", "sftp"})
_GIT_REMOTES: Final = frozenset({"clone", "ls-remote", "remote", "submodule"})
_PROGRAMS: Final = _GOING_OUT | {"git"}
_WORD: Final = re.compile(r"(?:[^\s@/:]{1,64}@)?(\[[0-9a-f:.]{2,45}\]|[\w.-]{2,253})(?P<path>:.*)?", re.DOTALL)


def begins_command(word: str) -> bool:
    """Whether a word is a program that goes over the network, or one that runs others."""
    name = word[:200].rpartition("/")[2].lower()
    return name in _PROGRAMS or name in _WRAPPERS


def hosts_of_command(command: str) -> Iterator[Mention]:
    """Yield the hosts that a command of the network is given without a scheme, such as `curl example.org`."""
    command = _CONTINUED.sub(" ", command)
    for spelled in decodings(command):
        for found in _NETWORK_COMMAND.finditer(spelled):
            for word in DOTTED.findall(found[0]):
                if word.rpartition(".")[2] not in _FILES:
                    yield Mention(word, is_sure=True)
            yield from hosts_of_number(_FIGURE.sub(" ", found[0]))
    for step in _STEP.split(command):
        program, words = _program_of(step)
        for host in _hosts_of_program(program, words):
            yield Mention(host.lower(), is_sure=True)


def _program_of(step: str) -> tuple[str, list[str]]:
    """Return the program that one step of a command runs, and the words behind it."""
    words = [word.strip("\"'\\") for word in step.split()]
    is_behind_option = False
    for at, word in enumerate(words):
        name = word.rpartition("/")[2].lower()
        is_option = word.startswith("-")
        is_wrapper = name in _WRAPPERS or "=" in word or word[:1].isdigit() or not word
        if name in _PROGRAMS or not (is_option or is_wrapper or (is_behind_option and at > 1)):
            return name, words[at + 1 :]
        is_behind_option = is_option
    return "", []


def _hosts_of_program(program: str, words: list[str]) -> Iterator[str]:
    """Yield the hosts by where they stand, for a name of one word has no shape of its own."""
    if program in _FIRST:
        yield from _first_host(words, _FIRST[program])
    if program in _BY_OPTION:
        yield from (word for before, word in itertools.pairwise(words) if before in ("-h", "--host"))
        yield from (word[7:] for word in words if word.startswith("--host=") and word[7:])
    is_git = program == "git"
    if is_git or program in _COPYING:
        is_open = not is_git or not _GIT_REMOTES.isdisjoint(words)
        for word in words:
            found = _WORD.fullmatch(word)
            if found and found["path"] and "://" not in word and (is_open or "@" in word.partition(":")[0]):
                yield found[1]


def _first_host(words: list[str], with_word: str) -> Iterator[str]:
    """Yield the host that comes first behind the options."""
    is_value = False
    for word in words:
        if word.startswith("-"):
            is_value = len(word) == 2 and word[1] in with_word
        elif is_value:
            is_value = False
        else:
            found = _WORD.fullmatch(word)
            if found and not found[1].isdigit() and "://" not in word:
                yield found[1]
            return
