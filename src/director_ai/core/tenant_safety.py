"""Telling identifiers, figures and plain operator words from raw text.

A record that crosses tenants may say "the stream was halted below the hard limit"; it may not say a name, a fact or
a piece of the answer. Free text cannot be told from an explanation by its shape, so an explanation is held to a
closed vocabulary: whatever uses another word is treated as raw text.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["EXPLANATION_LIMIT", "REASON_PATTERN", "explain", "is_machine_reason", "is_operator_text"]

EXPLANATION_LIMIT: Final = 240
REASON_PATTERN: Final = r"[a-z][a-z0-9_]{0,63}(?:\.[a-z0-9_]{1,64}){0,4}(?: [a-z_]{1,32}=[A-Za-z0-9_.+-]{1,64}){0,8}"

_REASON = re.compile(REASON_PATTERN)
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
# An explanation comes from outside and must not cost more than one look per character: every text has one reading only.
_OTHER = re.compile(r"(?:[0-9]{1,7}(?![0-9])(?:\.[0-9]{1,6}(?![0-9])|(?!\.[0-9]))|[ .,:;()%/-])*")
_FIGURE_GROUPS = re.compile(r"[0-9][ .-]+[0-9]+[ .-]+[0-9]|[0-9]{5}[ -]+[0-9]{3}")  # card, phone and identity numbers

_EXPLANATIONS: Final = {
    "hard_limit": "The coherence score fell below the hard limit, so the stream was halted.",
    "window_avg": "The mean coherence of the last scores fell below the window threshold, so the stream was halted.",
    "downward_trend": "Coherence fell by more than the trend threshold allows, so the stream was halted.",
    "invalid_score": "The scorer gave an answer that is not a score, so the stream was halted.",
    "callback_error": "The scorer failed, so the stream was halted.",
    "source_error": "The token source failed, so the stream was halted.",
    "timeout": "An answer did not come within its time limit, so the stream was halted.",
    "clause_rewrite": "A clause was not supported, so it was rewritten by its evidence; the rewrite was judged again.",
    "clause_redact": "A clause was not supported and no rewrite of it was, so it was redacted.",
    "unsupported_clause": "A clause was not supported, so the stream was halted before it.",
    "too_many_redactions": "More clauses had to be redacted than the policy allows, so the stream was halted.",
    "no_go_envelope": "The action is physical or irreversible, so it was blocked by the no-go rule.",
    "no_go_risk": "The risk reached the no-go threshold, so the action was blocked.",
    "blocked_verdict": "A verifier blocked the action.",
    "contradiction_verdict": "A confident verifier found a contradiction.",
    "unsafe_verdict": "A confident verifier found the action unsafe.",
    "risk_limit": "The risk reached the calibrated threshold.",
    "required_verifier": "A required verifier was missing or failed.",
    "unsure_contradiction": "A verifier found a contradiction, but was not confident.",
    "unsure_unsafe": "A verifier found the action unsafe, but was not confident.",
    "unsupported_verdict": "A verifier found no support.",
    "uncertain_verdict": "A verifier was uncertain.",
    "raised_risk": "The risk reached the warning threshold.",
    "verifier_failed": "A verifier failed, so its score was not support.",
    "wide_interval": "The confidence interval of a verifier exceeds the limit of a critical decision.",
    "no_signals": "No verifier gave a signal.",
    "within_limits": "The risk was below every threshold and no rule was violated.",
}
_DECISIONS: Final = {
    "allow": "The decision was to allow.",
    "warn": "The decision was to warn.",
    "halt": "The decision was to halt.",
    "block": "The decision was to block.",
}

_VOCABULARY: Final = frozenset(
    " ".join([*_EXPLANATIONS.values(), *_DECISIONS.values()]).lower().replace(".", "").replace(",", "").split()
) | frozenset(
    """
    a an the this that these those it its no not none never only and or but nor than then so because since while when
    if unless until before after at by for from in into of on onto over per to under up with without within between
    is are was were be been being has have had do does did done can could may might must shall should will would
    all any both each every few more most other some such one two three four five six seven eight nine ten first last
    next too very also again already yet

    above accepted action actions actor add added agent agents allow allowed allows anchor answer answers approval
    approvals approve approved approver ask asked assertion assertions attestation attribute audience audit available
    below beyond block blocked blocks budget buffer calibrated callback candidate candidates capability case cases
    check checked checks class classes clause clauses clock closed coherence confidence confident conflict consensus
    constraint constraints containment contradict contradicted contradicting contradiction contradicts correct
    corrected correction count coverage cross-turn critical deadline decision decisions denied detected disagree
    disagreed divergence domain draft edit edits energy entailed envelope error errors escalated event evidence
    exceed exceeded exceeds expired fact facts fail failed fails failure fell figure found guard halt halted handoff
    hard held high hold hook human identifier injection interval invalid irreversible judge judged key kept kill
    knowledge-base latency length limit limits limited low lower match maximum mean measured merge minimum missing
    mode model name named needed no-go number numbers observed ontology open operator outside passed passport
    permitted physical placeholder policy preflight prompt proposal raised range rate reach reached reason redact
    redacted refused reject rejected relation release released repair repaired repairs request required response
    retrieval retry review reviewed reviewer revoked rewrite rewriter rewritten risk rule run runs safe scope score
    scored scorer scores sentence sessions session signal signals signature signed simulated simulation simulations
    slot soft source spent state step steps stop stopped store stream supported support swarm switch tenant text
    threshold thresholds time times timed token tokens took trajectory trend trust unavailable unclear uncertain
    unknown unreachable unsafe unsupported validator verdict verifier verifiers verify violated violation violations
    warn warned warning warnings window withheld words worst
    """.split()
)


def is_machine_reason(reason: object) -> bool:
    """Whether a reason is a machine-readable word with figures, such as `hard_limit score=0.31 limit=0.4`."""
    return isinstance(reason, str) and _REASON.fullmatch(reason) is not None


def is_operator_text(text: object, extra_words: frozenset[str] = frozenset()) -> bool:
    """Whether a text is short and made of operator vocabulary and small figures alone."""
    if not isinstance(text, str) or len(text) > EXPLANATION_LIMIT:
        return False
    words = _WORD.findall(text)
    if not all(word.lower() in _VOCABULARY or word.lower() in extra_words for word in words):
        return False
    return _OTHER.fullmatch(_WORD.sub("", text)) is not None and not _FIGURE_GROUPS.search(text)


def explain(policy_decision: str, halt_reason: str) -> str:
    """Return a sentence for operators about a decision; a reason it does not know adds nothing to it."""
    code = halt_reason.split(" ", 1)[0]
    return _EXPLANATIONS.get(code) or _DECISIONS.get(policy_decision, "")
