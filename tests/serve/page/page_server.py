"""A real server with its page on a free port, some reviewers' keys, and cases to decide."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from director_ai.core import CorrectionLoop, GroundedCorrectionDraft
from director_ai.core.guard_control import RiskEnvelope, VerifierSignal
from director_ai.core.scoring.consensus import CrossVerifierConsensus
from director_ai.core.types import EvidenceChunk, HaltEvidence
from director_ai.demo_bank import ANSWER, FACTS, QUESTION, answer_to
from director_ai.serve.running import Running, listen
from director_ai.serve.scripted import ScriptedUpstream
from director_ai.serve.server import Server
from director_ai.serve.settings import ServerSettings
from director_ai.serve.tenancy import Source

if TYPE_CHECKING:
    from director_ai.review.cases import ReviewCase

TENANT = "acme"
WRONG = "Savings earn 3.1 % interest a year, paid on the last day of December."
RIGHT = "Savings earn 2.1 % interest a year, paid on the last day of December."
HALT = HaltEvidence("unsupported_clause", 0.04, [EvidenceChunk(FACTS["kb:interest"], 0.1, "kb:interest")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Secrets of callers."""

    rosa: str
    ines: str
    """Two reviewers of one tenant; the first is its administrator too."""
    blind: str
    """A reviewer whose key shows no evidence."""
    other: str
    """A reviewer of another tenant."""
    proxy: str
    operator: str


class PageServer:
    """Runs a server in a thread, as a context manager."""

    def __init__(self, *, is_demo: bool = False) -> None:
        settings = ServerSettings.load(
            {
                "server": {"database": ":memory:", "grace": 0.2},
                "guard": {"profile": "finance", "use_nli": False, "search": "words"},
            },
            env={},
        )
        source = Source(frozenset({"openai", "anthropic"}), ScriptedUpstream(answer_to, delay=0.0))
        self.server = Server(settings, sources={"demo": source}, is_demo=is_demo)
        self.server.store.add_many(FACTS)
        self.queue = self.server.queue
        self.keys = self._keys()
        self._socket = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.page = f"{self.url}/review"
        self._running = Running(self.server)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._running.started and self._thread.is_alive():
            self._thread.join(0.01)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._running.should_exit = True
        self._thread.join(15)
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._running.serve([self._socket]))

    def _keys(self) -> Keys:
        def make(tenant: str, *scopes: str, **options: Any) -> str:
            return self.server.keys.create(tenant, scopes, **options).secret

        return Keys(
            rosa=make(TENANT, "reviewer", "admin", shows_evidence=True),
            ines=make(TENANT, "reviewer", shows_evidence=True),
            blind=make(TENANT, "reviewer"),
            other=make("globex", "reviewer", shows_evidence=True),
            proxy=make(TENANT, "proxy"),
            operator=make("", "reviewer", "admin", shows_evidence=True),
        )

    def caller_id(self, secret: str) -> str:
        """Return who a key is in records."""
        return secret[:12]

    # --- cases ------------------------------------------------------------------------------------------------

    def text(self, text: str = WRONG, *, tenant_id: str = TENANT, **options: Any) -> ReviewCase:
        """Put a text before people."""
        options = {"reason": "unsupported_clause", "evidence_refs": ["kb:interest"]} | options
        return self.queue.enqueue_case(candidate_text=text, tenant_id=tenant_id, **options)

    def correction(self, *, risk: float = 0.05, tenant_id: str = TENANT, **options: Any) -> ReviewCase:
        """Put a correction before people; from a risk of 0.65 on the verifiers do not allow it."""
        verdict = "supported" if risk < 0.5 else "contradiction"
        signal = VerifierSignal("guard", "text", risk, verdict, risk / 2, min(1, risk + 0.1), ("kb:interest",))
        loop = CorrectionLoop(
            consensus=CrossVerifierConsensus(),
            risk_envelope=RiskEnvelope("text", "reversible", "finance", 0.65, 0.9),
            policy_id="policy.finance",
        )
        proposal = loop.propose_from_halt(
            halt_evidence=HALT,
            continuation_builder=lambda _: GroundedCorrectionDraft(RIGHT, (signal,), ("kb:interest",)),
        )
        options = {"original_text": WRONG, "proposer_id": "director-ai"} | options
        return self.queue.enqueue_correction_proposal(proposal, tenant_id=tenant_id, **options)

    def answer(self, request_id: str = "chat-17", *, tenant_id: str = TENANT) -> ReviewCase:
        """Put an answer with three errors before people, as the proxy does it, with what became of each clause."""
        guard = self.server.guards.get(self.server.settings.usual.guard)
        result = guard.repair_stream(QUESTION, ANSWER, tenant_id=tenant_id)
        actions = [
            {
                "action": each.action,
                "clause": each.clause,
                "text": each.text,
                "verdict": each.verdict,
                "reason": each.reason,
                "span": [each.start, each.end],
                "support": each.support,
                "evidence_ids": list(each.evidence_ids),
            }
            for each in result.actions
        ]
        return self.text(
            result.repaired_text,
            tenant_id=tenant_id,
            original_text=ANSWER,
            request_id=request_id,
            reason="clause_redacted",
            evidence_refs=["kb:interest", "kb:founder"],
            proposer_id="director-ai",
            policy_id="policy.finance",
            metadata={"prompt": QUESTION, "actions": actions, "shown": result.repaired_text, "halted": False},
        )
