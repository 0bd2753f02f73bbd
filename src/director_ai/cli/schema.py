"""`director-ai schema`: the JSON Schema of the records, for those who read them with other tools."""

from __future__ import annotations

import json

import typer

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON Schema of a SafetyEvent.

    For example: director-ai schema > safety-event.json
    """
    from director_ai.core.safety_event import safety_event_schema  # noqa: PLC0415 - keeps `--help` quick

    typer.echo(json.dumps(safety_event_schema(), indent=2))
