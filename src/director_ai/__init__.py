"""A guard between a language model's token stream and its reader.

Names are loaded when they are first used, so that importing the package stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.agent import CoherenceAgent
    from director_ai.core.runtime.session import StreamSession, TokenEvent
    from director_ai.core.safety_event import SafetyEvent
    from director_ai.core.scoring.injection import InjectionDetector
    from director_ai.core.segment import ClauseSegmenter, split_clauses
    from director_ai.core.streaming_repair import RepairResult, StreamingRepairer
    from director_ai.core.types import CoherenceScore, EvidenceChunk, HaltEvidence, ReviewResult
    from director_ai.errors import ConfigError, DirectorError
    from director_ai.guard import ProductionGuard
    from director_ai.knowledge.store import GroundTruthStore, VectorGroundTruthStore
    from director_ai.review.queue import HumanReviewQueue
    from director_ai.scorer import CoherenceScorer
    from director_ai.streaming import AsyncStreamingKernel, StreamingKernel

__version__ = "0.1.0"

__all__ = [
    "AsyncStreamingKernel",
    "ClauseSegmenter",
    "CoherenceAgent",
    "CoherenceScore",
    "CoherenceScorer",
    "ConfigError",
    "DirectorError",
    "EvidenceChunk",
    "GroundTruthStore",
    "HaltEvidence",
    "HumanReviewQueue",
    "InjectionDetector",
    "ProductionGuard",
    "RepairResult",
    "ReviewResult",
    "SafetyEvent",
    "StreamSession",
    "StreamingKernel",
    "StreamingRepairer",
    "TokenEvent",
    "VectorGroundTruthStore",
    "split_clauses",
]

_HOMES = {
    "AsyncStreamingKernel": "streaming",
    "ClauseSegmenter": "core.segment",
    "CoherenceAgent": "agent",
    "CoherenceScore": "core.types",
    "CoherenceScorer": "scorer",
    "ConfigError": "errors",
    "DirectorError": "errors",
    "EvidenceChunk": "core.types",
    "GroundTruthStore": "knowledge.store",
    "HaltEvidence": "core.types",
    "HumanReviewQueue": "review.queue",
    "InjectionDetector": "core.scoring.injection",
    "ProductionGuard": "guard",
    "RepairResult": "core.streaming_repair",
    "ReviewResult": "core.types",
    "SafetyEvent": "core.safety_event",
    "StreamSession": "core.runtime.session",
    "StreamingKernel": "streaming",
    "StreamingRepairer": "core.streaming_repair",
    "TokenEvent": "core.runtime.session",
    "VectorGroundTruthStore": "knowledge.store",
    "split_clauses": "core.segment",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
