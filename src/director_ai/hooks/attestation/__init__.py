"""Attestation: an agent shows a passport, and may do what it grants."""

from __future__ import annotations

from director_ai.hooks.attestation.hook import REASONS, AttestationHook, PassportVerdict
from director_ai.hooks.attestation.issuers import Issuer, IssuerKey, IssuerRegistry, RevocationList, Revocations
from director_ai.hooks.attestation.passports import Passport, delegate_passport, holder_of, issue_passport
from director_ai.hooks.nonces import Nonces, NonceStore

__all__ = [
    "REASONS",
    "AttestationHook",
    "Issuer",
    "IssuerKey",
    "IssuerRegistry",
    "NonceStore",
    "Nonces",
    "Passport",
    "PassportVerdict",
    "RevocationList",
    "Revocations",
    "delegate_passport",
    "holder_of",
    "issue_passport",
]
