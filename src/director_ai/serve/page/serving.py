"""What the page needs of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from director_ai.review.queue import HumanReviewQueue
    from director_ai.serve.callers import Authenticator, Caller
    from director_ai.serve.figures import Figures
    from director_ai.serve.guarding import Guarding
    from director_ai.serve.open_streams import OpenStreams

__all__ = ["Serving"]


class Serving(Protocol):
    """The part of a server that the page looks at."""

    @property
    def queue(self) -> HumanReviewQueue:
        """Cases and their trail."""
        ...

    @property
    def streams(self) -> OpenStreams:
        """The streams that are open."""
        ...

    @property
    def figures(self) -> Figures:
        """What is counted."""
        ...

    @property
    def authenticate(self) -> Authenticator:
        """The one function that every route asks."""
        ...

    def guarding(self, caller: Caller, prompt: str, request_id: str) -> Guarding:
        """Return the guard of a caller's tenant."""
        ...
