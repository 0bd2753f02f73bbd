"""The socket of a server."""

from __future__ import annotations

import socket
from typing import Final

from director_ai.errors import ConfigError

__all__ = ["listen"]

SEND_BUFFER: Final = 64 * 1024
"""Bytes that the system keeps for a client that does not read; left to itself it takes megabytes."""
QUEUE: Final = 2_048
"""Connections that wait to be accepted."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that waits for connections, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # accepted connections inherit it
        bound.bind((host.strip("[]"), port))
        bound.listen(QUEUE)
    except OSError as error:
        bound.close()
        raise ConfigError(f"port {port} of {host} cannot be used ({error.strerror}); choose another") from None
    return bound
