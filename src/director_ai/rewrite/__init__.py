"""Rewriters: what stands in the place of a clause that the evidence does not bear out.

Names are loaded when they are first used: the default needs no HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.rewrite.asking import AnthropicRewriter, OpenAIRewriter
    from director_ai.rewrite.continuing import AnthropicContinuation, OpenAIContinuation
    from director_ai.rewrite.evidence_patch import EvidencePatch
    from director_ai.rewrite.evidence_quote import EvidenceQuote

__all__ = [
    "AnthropicContinuation",
    "AnthropicRewriter",
    "EvidencePatch",
    "EvidenceQuote",
    "OpenAIContinuation",
    "OpenAIRewriter",
]

_HOMES = {
    "AnthropicContinuation": "rewrite.continuing",
    "AnthropicRewriter": "rewrite.asking",
    "EvidencePatch": "rewrite.evidence_patch",
    "EvidenceQuote": "rewrite.evidence_quote",
    "OpenAIContinuation": "rewrite.continuing",
    "OpenAIRewriter": "rewrite.asking",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
