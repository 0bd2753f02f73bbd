"""What a repair did, for people: live in a terminal, and afterwards as one page of HTML."""

from __future__ import annotations

from director_ai.cli.report.figures import Figures
from director_ai.cli.report.page import render_report, write_report

__all__ = ["Figures", "render_report", "write_report"]
