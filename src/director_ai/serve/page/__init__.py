"""The page where people decide, watch the figures and try the guard; served by the process that guards."""

from __future__ import annotations

from director_ai.serve.page.router import page_router

__all__ = ["page_router"]
