"""Optimistic mode in a terminal: text appears at once, dim until it is confirmed, and is corrected where it stands.

director-ai serve --demo --port 8080
python examples/optimistic_client.py "What do I get with the Standard Account?"
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from typing import Any

import httpx2

DIM, STRUCK, NEW, PLAIN = "\x1b[2m", "\x1b[9;31m", "\x1b[32m", "\x1b[0m"


class LiveText:
    """The text of an answer as the server's events leave it."""

    def __init__(self) -> None:
        self.text = ""
        self.confirmed = 0
        self.changes: list[tuple[int, str, str]] = []  # where, what was taken back, what stands there now

    def take(self, chunk: dict[str, Any]) -> None:
        """Take one chunk of the stream."""
        for choice in chunk.get("choices", []):
            self.text += choice["delta"].get("content") or ""
        event = chunk.get("guard", {})
        start, end, new = event.get("start", 0), event.get("end", 0), event.get("text", "")
        if event.get("event") == "confirm":
            self.confirmed = end
        elif event.get("event") in ("replace", "retract"):
            self.changes.append((start, self.text[start:end], new))
            self.text = self.text[:start] + new + self.text[end:]

    def painted(self) -> str:
        """Return the text with what was taken back struck through, and what is not confirmed dim."""
        made, place = "", 0
        for start, old, new in self.changes:
            made += visible(self.text[place:start]) + STRUCK + visible(old) + PLAIN + NEW + visible(new) + PLAIN
            place = start + len(new)
        final = max(place, self.confirmed)
        return made + visible(self.text[place:final]) + DIM + visible(self.text[final:]) + PLAIN


def visible(text: str) -> str:
    """Return a text that can do nothing to a terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in text)


class Screen:
    """Draws a text again and again in the same place."""

    def __init__(self) -> None:
        self._rows = 0

    def draw(self, painted: str) -> None:
        """Draw the text over the one before it."""
        size, plain = shutil.get_terminal_size(), re.sub("\x1b[^m]*m", "", painted)
        above = f"\x1b[{self._rows}A" if self._rows else ""
        sys.stdout.write(f"\r{above}\x1b[J{painted}")
        sys.stdout.flush()
        rows = sum(max(1, -(-len(line) // size.columns)) for line in plain.split("\n"))
        self._rows = min(rows, size.lines) - 1


def main() -> None:
    """Ask once, and show what comes."""
    asked = argparse.ArgumentParser(description="Show an answer at once, and correct it as it is judged.")
    asked.add_argument("question", nargs="?", default="What do I get with the Standard Account?")
    asked.add_argument("--url", default="http://127.0.0.1:8080")
    asked.add_argument("--key", default="demo")
    given = asked.parse_args()
    body = {"model": "demo", "stream": True, "messages": [{"role": "user", "content": given.question}]}
    headers = {"authorization": f"Bearer {given.key}", "x-director-mode": "optimistic"}
    live, screen = LiveText(), Screen()
    try:
        with httpx2.stream(
            "POST", f"{given.url}/v1/chat/completions", json=body, headers=headers, timeout=60
        ) as answer:
            if answer.status_code != 200:
                raise SystemExit(json.loads(answer.read())["error"]["message"])
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    live.take(json.loads(line.removeprefix("data: ")))
                    if sys.stdout.isatty():
                        screen.draw(live.painted())
    except httpx2.HTTPError as error:
        raise SystemExit(f"no answer from {given.url}: {error}") from None
    sys.stdout.write("\n" if sys.stdout.isatty() else visible(live.text) + "\n")


if __name__ == "__main__":
    main()
