"""Agents with passports: one may search and read files, and hands a narrower passport to its helper.

python examples/hooks/attestation.py
"""

from __future__ import annotations

import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from director_ai.hooks.attestation import (
    AttestationHook,
    Issuer,
    IssuerKey,
    IssuerRegistry,
    Revocations,
    delegate_passport,
    issue_passport,
)
from director_ai.hooks.protocol import ProposedAction

HR, GUARD = "https://agents.example.com", "guard.example.com"


def main() -> None:
    """Issue two passports, try them, and take one back."""
    issuing, holding = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    registry = IssuerRegistry([Issuer(name=HR, keys=(IssuerKey(kid="2026", key=issuing.public_key()),))])
    revocations = Revocations()
    hook = AttestationHook(registry, audience=GUARD, revocations=revocations)

    grant = {"capabilities": ["tool:search", "tool:files/*"], "holder": holding.public_key()}
    researcher = issue_passport(
        issuing,
        issuer=HR,
        kid="2026",
        subject="researcher",
        audience=GUARD,
        jti="passport-1",
        **grant,
    )
    narrow = {"issuer": "researcher", "audience": GUARD, "capabilities": ["tool:files/read"], "lifetime": 60}
    helper = delegate_passport(researcher, holding, subject="helper", **narrow)

    def show(who: str, passport: str, tool: str) -> None:
        verdict = hook.judge(passport, action=ProposedAction(name=tool), sender=who)
        sys.stdout.write(f"{verdict.decision:5}  {who} calls {tool}: {', '.join(verdict.reasons) or 'granted'}\n")

    show("researcher", researcher, "payments/send")
    show("helper", helper, "files/read")
    show("helper", researcher, "search")
    show("helper", helper[:-6] + "AAAAAA", "files/read")
    revocations.revoke("passport-1", issuer=HR)
    show("helper", helper, "files/read")


if __name__ == "__main__":
    main()
