"""Exact vector search within a tenant: its vectors stand in memory as one array, kept up to date by difference."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from director_ai.knowledge.tables import Numbers, Vectors

__all__ = ["VectorSearch"]

MOST_BYTES = 384 * 2**20
"""Of all tenants' arrays together; beyond it, those used longest ago are read again when they are asked for."""


class _Tenant:
    """The vectors of one tenant, as of a revision."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seen = -1
        self.last = 0
        self.count = 0
        self.vectors: Vectors = np.empty((0, VectorSearch.SIZE), np.float32)
        self.facts: Numbers = np.empty(0, np.int64)
        self.born: Numbers = np.empty(0, np.int64)
        self.died: Numbers = np.empty(0, np.int64)
        self.order: Numbers = np.empty(0, np.int64)
        """The places of the vectors by their facts' numbers."""

    def bring_up_to_date(self, connection: sqlite3.Connection, number: int, changed: int, encoder: str) -> None:
        """Read what was added since the last look, and which facts ended."""
        newest = connection.execute(
            "SELECT max(id) FROM vector WHERE tenant = ? AND encoder = ?", [number, encoder]
        ).fetchone()[0]
        if self.seen == changed and self.last >= (newest or 0):
            return
        for row, died in connection.execute(
            "SELECT id, died FROM fact WHERE tenant = ? AND died > ? AND died < 4611686018427387904",
            [number, self.seen],
        ):
            self.died[self.places([row])] = died
        found = connection.execute(
            "SELECT vector.id, fact.id, born, died, value FROM vector JOIN fact ON fact.id = vector.fact"
            " WHERE vector.tenant = ? AND encoder = ? AND vector.id > ? ORDER BY vector.id",
            [number, encoder, self.last],
        )
        while batch := found.fetchmany(5_000):
            self._append(batch)
            self.last = batch[-1][0]
        self.order = np.argsort(self.facts[: self.count], kind="stable")
        self.seen = changed

    def places(self, ids: Sequence[int]) -> Numbers:
        """Return the places of the vectors of these facts."""
        ordered = self.facts[self.order]
        starts, ends = (np.searchsorted(ordered, ids, side) for side in ("left", "right"))
        return np.concatenate([self.order[:0], *(self.order[i:j] for i, j in zip(starts, ends, strict=True))])

    def _append(self, batch: Sequence[tuple[int, int, int, int, bytes]]) -> None:
        end = self.count + len(batch)
        if end > len(self.facts):
            size = max(end, len(self.facts) * 5 // 4)
            self.vectors = np.concatenate(
                [self.vectors, np.empty((size - len(self.facts), VectorSearch.SIZE), np.float32)]
            )
            self.facts, self.born, self.died = (
                np.concatenate([column, np.zeros(size - len(column), np.int64)])
                for column in (self.facts, self.born, self.died)
            )
        self.vectors[self.count : end] = np.frombuffer(b"".join(row[4] for row in batch), np.float16).reshape(
            -1, VectorSearch.SIZE
        )
        for column, place in ((self.facts, 1), (self.born, 2), (self.died, 3)):
            column[self.count : end] = [row[place] for row in batch]
        self.count = end


class VectorSearch:
    """The arrays of the tenants that were asked for lately."""

    SIZE: ClassVar = 384

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tenants: OrderedDict[int, _Tenant] = OrderedDict()

    def nearest(
        self,
        connection: sqlite3.Connection,
        number: int,
        changed: int,
        encoder: str,
        question: Vectors,
        most: int,
        at: int,
    ) -> list[tuple[int, float]]:
        """Return the facts nearest to the question that live at a revision, and their cosines."""
        tenant = self._tenant(number)
        with tenant.lock:
            tenant.bring_up_to_date(connection, number, changed, encoder)
            facts, vectors = tenant.facts[: tenant.count], tenant.vectors[: tenant.count]
            lives = (tenant.born[: tenant.count] <= at) & (tenant.died[: tenant.count] > at)
        self._forget()
        if not len(facts):
            return []
        cosines = np.where(lives, _products(vectors, question), np.float32(-2.0))
        wanted = min(len(cosines), 4 * most)  # a long fact has several vectors
        least = max(np.partition(cosines, -wanted)[-wanted], np.float32(-1.5))
        places = np.flatnonzero(cosines >= least)
        order = places[np.lexsort((facts[places], -cosines[places]))]
        best: dict[int, float] = {}
        for fact, cosine in zip(facts[order].tolist(), cosines[order].tolist(), strict=True):
            best.setdefault(fact, cosine)
        return list(best.items())[:most]

    def similarity(
        self,
        connection: sqlite3.Connection,
        number: int,
        changed: int,
        encoder: str,
        ids: Sequence[int],
        question: Vectors,
    ) -> dict[int, float]:
        """Return the cosine of each of these facts that has a vector: of several, the highest."""
        tenant = self._tenant(number)
        with tenant.lock:
            tenant.bring_up_to_date(connection, number, changed, encoder)
            places = tenant.places(ids)
            facts, cosines = tenant.facts[places], _products(tenant.vectors[places], question)
        best: dict[int, float] = {}
        for fact, cosine in zip(facts.tolist(), cosines.tolist(), strict=True):
            best[fact] = max(best.get(fact, -1.0), cosine)
        return best

    def _tenant(self, number: int) -> _Tenant:
        with self._lock:
            tenant = self._tenants.pop(number, None) or _Tenant()
            self._tenants[number] = tenant
            return tenant

    def _forget(self) -> None:
        with self._lock:
            used = sum(tenant.vectors.nbytes for tenant in self._tenants.values())
            while used > MOST_BYTES and len(self._tenants) > 1:
                used -= self._tenants.popitem(last=False)[1].vectors.nbytes


def _products(vectors: Vectors, question: Vectors) -> Vectors:
    """Return the product of each row with the question, on this thread alone and in the same order everywhere.

    BLAS would wake its threads for it, which spin while another process has their core, and takes twice as long.
    """
    return np.asarray(np.einsum("ij,j->i", vectors, question))
