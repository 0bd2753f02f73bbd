"""Which things lead back to themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["find_cycles"]


def find_cycles(edges: Mapping[str, Collection[str]]) -> list[frozenset[str]]:
    """Return the groups of two and more nodes that all lead to each other, in linear time and without recursion."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    open_nodes: set[str] = set()
    found: list[frozenset[str]] = []
    for root in edges:
        path: list[tuple[str, Iterator[str]]] = []
        following: str | None = root if root not in order else None
        while following is not None or path:
            if following is not None:
                order[following] = lowest[following] = len(order)
                waiting.append(following)
                open_nodes.add(following)
                path.append((following, iter(edges.get(following, ()))))
            node, rest = path[-1]
            following = _unseen(node, rest, order, lowest, open_nodes)
            if following is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    found += _closed(node, waiting, open_nodes)
    return found


def _unseen(
    node: str, rest: Iterator[str], order: dict[str, int], lowest: dict[str, int], open_nodes: set[str]
) -> str | None:
    """Return the next neighbor that was not seen yet, noting those on the way that lead back."""
    for other in rest:
        if other not in order:
            return other
        if other in open_nodes:
            lowest[node] = min(lowest[node], order[other])
    return None


def _closed(node: str, waiting: list[str], open_nodes: set[str]) -> list[frozenset[str]]:
    start = len(waiting) - 1
    while waiting[start] != node:
        start -= 1
    group = frozenset(waiting[start:])
    del waiting[start:]
    open_nodes.difference_update(group)
    return [group] if len(group) > 1 else []
