"""The limits and the policy of each domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from director_ai.core.runtime.halting import HaltRules
from director_ai.core.scoring.targets import least_coherence, least_support
from director_ai.errors import UnknownOption

if TYPE_CHECKING:
    from director_ai.core.scoring.escalation import Doubt

__all__ = ["PROFILES", "EvidencePolicy", "Profile", "RepairRules", "get_profile"]

EvidencePolicy = Literal["open", "closed"]
"""`closed`: a claim that the knowledge base does not support is unsupported. `open`: only a contradicted one is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRules:
    """What a domain asks of a repair."""

    threshold: float
    """Coherence from here on keeps a clause: its support under the closed policy, 1 minus its contradiction if open."""
    most_redacted: int | None
    """Redactions after which a stream halts instead of showing a ruin, once eight clauses were judged."""
    most_redacted_share: float | None
    judge_band: tuple[float, float]
    """Support between which a judge is asked, if there is one."""
    judge_doubt: Doubt
    """What a clause is whose judge does not answer: rejected, or what the bundled model alone makes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a domain asks of a stream."""

    name: str
    rules: HaltRules
    policy: EvidencePolicy
    repair: RepairRules


_GENERAL = HaltRules(hard_limit=0.4, window_threshold=0.50, trend_threshold=0.15, window_size=10)
_MEDICAL = HaltRules(hard_limit=0.5, window_threshold=0.60, trend_threshold=0.10, window_size=8)
_FINANCE = HaltRules(hard_limit=0.5, window_threshold=0.55, trend_threshold=0.12, window_size=8)
_LEGAL = HaltRules(hard_limit=0.45, window_threshold=0.55, trend_threshold=0.12, window_size=10)
_CREATIVE = HaltRules(hard_limit=0.3, window_threshold=0.40, trend_threshold=0.20, window_size=15)

JUDGED: Final = (0.0, 0.84)
"""Support that a judge is asked about: on the dev answers 29 % of all clauses; 18 of 177 wrong claims lie above."""
# The shares of right claims that may be lost; what they cost and bring is in docs/threshold-tuning.md.
_STRICTEST = RepairRules(
    threshold=least_support(0.12),
    most_redacted=12,
    most_redacted_share=0.4,
    judge_band=JUDGED,
    judge_doubt="reject",
)
_STRICT = RepairRules(
    threshold=least_support(0.08),
    most_redacted=12,
    most_redacted_share=0.4,
    judge_band=JUDGED,
    judge_doubt="reject",
)
_MOST_LENIENT = RepairRules(
    threshold=least_coherence(0.01),
    most_redacted=None,
    most_redacted_share=0.6,
    judge_band=JUDGED,
    judge_doubt="model",
)
_LENIENT = RepairRules(
    threshold=least_coherence(0.02),
    most_redacted=None,
    most_redacted_share=0.6,
    judge_band=JUDGED,
    judge_doubt="model",
)

PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile(name="general", rules=_GENERAL, policy="open", repair=_LENIENT),
        Profile(name="medical", rules=_MEDICAL, policy="closed", repair=_STRICTEST),
        Profile(name="finance", rules=_FINANCE, policy="closed", repair=_STRICT),
        Profile(name="legal", rules=_LEGAL, policy="closed", repair=_STRICT),
        Profile(name="creative", rules=_CREATIVE, policy="open", repair=_MOST_LENIENT),
    )
}


def get_profile(name: str) -> Profile:
    """Return the profile of a domain, or refuse an unknown one with the nearest name."""
    profile = PROFILES.get(name.lower()) if isinstance(name, str) else None
    if profile is None:
        raise UnknownOption("domain", name, PROFILES)
    return profile
