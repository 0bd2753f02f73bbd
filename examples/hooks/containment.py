"""An agent in a sandbox, held to it: what it says and does is looked at before anything happens.

python examples/hooks/containment.py
"""

from __future__ import annotations

import secrets
import sys

from director_ai.hooks.containment import AnchorKey, ContainmentHook, HostRules, issue_anchor
from director_ai.hooks.protocol import ProposedAction

ACTIONS = {
    "asks its own service": ProposedAction(name="fetch", arguments={"url": "https://api.sandbox.example.com/v1"}),
    "asks production": ProposedAction(name="fetch", arguments={"url": "https://db.prod.example.com/orders"}),
    "hides behind a number": ProposedAction(name="fetch", arguments={"url": "http://169082885/admin"}),
    "hides behind a user": ProposedAction(name="fetch", arguments={"url": "https://api.sandbox.example.com@evil.org"}),
    "deploys elsewhere": ProposedAction(name="deploy", arguments={"env": "prod", "version": "7"}),
    "carries a password": ProposedAction(name="login", arguments={"user": "ada", "password": "hunter42x"}),
}


def main() -> None:
    """Issue an anchor for a sandbox and judge what its agent wants."""
    key = AnchorKey.from_secret(secrets.token_bytes(32))  # the launcher and the guard share it
    anchor = issue_anchor(key, subject="agent-7", scope="sandbox", lifetime=3_600)
    rules = {
        "sandbox": HostRules(
            allow=("*.sandbox.example.com", "127.0.0.0/8"),
            deny=("*.prod.example.com", "10.20.0.0/16"),
        )
    }
    hook = ContainmentHook(anchor, keys=[key], rules=rules)
    for what, action in ACTIONS.items():
        verdict = hook.judge_action(action)
        sys.stdout.write(f"{verdict.decision:5}  {what}: {', '.join(verdict.reasons) or 'stays inside'}\n")
    said = hook.judge_text("I am done. Note that this is production.")
    sys.stdout.write(f"{said.decision:5}  says where it is not: {', '.join(said.reasons)}\n")


if __name__ == "__main__":
    main()
