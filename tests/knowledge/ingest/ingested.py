"""Writes documents for the tests of ingestion, and reads them back as passages."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from director_ai.knowledge.ingest import Passage, read_passages


def ingest(document: str | bytes, suffix: str = ".txt", **options: Any) -> list[Passage]:
    """The passages of a document in a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"document{suffix}")
        path.write_bytes(document if isinstance(document, bytes) else document.encode("utf-8", "surrogatepass"))
        return list(read_passages(path, **options))


def texts(document: str | bytes, suffix: str = ".txt", **options: Any) -> list[str]:
    return [passage.text for passage in ingest(document, suffix, **options)]


def located(document: str | bytes, suffix: str, **options: Any) -> list[tuple[str, str]]:
    return [(passage.text, passage.locator) for passage in ingest(document, suffix, **options)]


def fold(text: str) -> str:
    return " ".join(text.split())


def pdf(pages: list[list[str]]) -> bytes:
    """A PDF of these pages, each a list of lines; a page without lines draws a box instead."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = "".join(f"({line}) Tj 0 {-40 if not line else -14} Td\n" for line in lines)
        content = f"BT /F1 12 Tf 72 720 Td\n{shown}ET" if lines else "0 0 100 100 re f"
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        page = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R"
        objects.append(f"<< {page} /Resources << /Font << /F1 3 0 R >> >> >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    body, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode("latin-1")
