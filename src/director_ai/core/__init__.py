"""The part that decides and never acts: no clock, no thread, no socket, no file; `runtime.drive` acts for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.core.runtime.correction import (
        CorrectionLoop,
        CorrectionProposal,
        GroundedCorrectionDraft,
        HaltCorrectionContext,
    )

__all__ = ["CorrectionLoop", "CorrectionProposal", "GroundedCorrectionDraft", "HaltCorrectionContext"]

__getattr__, __dir__ = names_of(__name__, dict.fromkeys(__all__, "core.runtime.correction"))
