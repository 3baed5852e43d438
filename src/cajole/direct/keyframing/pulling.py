"""Loads on a body being posed, and the hand that pulls at one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.errors import InputError
from cajole.locking import synchronized

if TYPE_CHECKING:
    from cajole.direct.keyframing.session import PoseSession


@dataclass(frozen=True, eq=False)
class Load:
    """Forces (k, 3) [N] on vertices (k,), known to its session by `number`; a frozen one can no longer be changed.

    A muted one does not pull.
    """

    number: int
    vertices: IndexArray
    forces: Array
    frozen: bool = False
    muted: bool = False


@dataclass(frozen=True, eq=False)
class Moment:
    """All that an operation can change: loads, pins {vertex: position (3,)}, the pose (n, 3) [m] that balances them,
    and what the vertices weigh (n, 3) [N], None for nothing."""

    loads: tuple[Load, ...]
    pins: dict[int, Array]
    displacement: Array
    weight: Array | None = None


class Pull:
    """What `PoseSession.grab` gives: `move` as often as wanted, then `drop`, or `cancel`.

    While it moves, the pose is solved for only as well as there is time for, and follows the hand; `drop` ends in full
    equilibrium. Threads may share it: its methods take turns with each other and with those of the session.
    """

    def __init__(self, session: PoseSession, wanted: Moment, before: Moment):
        self.lock = session.lock
        self._session, self._wanted, self._before = session, wanted, before
        self._moved = False
        self.open = True

    @property
    def load(self) -> Load:
        """The load as it was moved last."""
        return self._wanted.loads[-1]

    @synchronized
    def move(self, force: ArrayLike) -> None:
        """Pull with force (3,) [N], shared equally, or (k, 3), one for each vertex.

        Raises LoadError or NotConverged when that is too much; the pose and the force then stay as they were.
        """
        self._require_open()
        load = replace(self.load, forces=shared(force, len(self.load.vertices)))
        self._try_out(load, rough=True)
        self._moved = True

    @synchronized
    def settle(self) -> float:
        """Go on towards the equilibrium of the last move, which stops where it would take long; how far that led, in
        body sizes: less and less, until nothing is left to do."""
        self._require_open()
        before = self._session.moment.displacement
        if self._moved:
            self._try_out(self.load, rough=True)
        away = self._session.moment.displacement - before
        return float(np.sqrt((away**2).sum(axis=1).max())) / self._session.body.size

    @synchronized
    def drop(self) -> None:
        """Let go in full equilibrium: the whole pull is one step of undo, and none when it never moved."""
        self._require_open()
        if self._moved:
            self._try_out(self.load, rough=False)
        self.open = False
        self._session.let_go(self._before, keep=self._moved)

    @synchronized
    def cancel(self) -> None:
        """Let go, with everything as it was before the grab."""
        self._require_open()
        self.open = False
        self._session.let_go(self._before, keep=False)

    def _try_out(self, load: Load, *, rough: bool) -> None:
        wanted = replace(
            self._wanted, loads=(*self._wanted.loads[:-1], load), displacement=self._session.moment.displacement
        )
        self._session.try_out(wanted, rough=rough)
        self._wanted = wanted

    def _require_open(self) -> None:
        if not self.open:
            raise InputError("the hand is empty: the pull was dropped or cancelled; grab again")


def shared(force: ArrayLike, count: int) -> Array:
    """Forces (count, 3): one (3,) shared equally, or as they are."""
    if checks.depth(force) == 2:
        return checks.real_array(force, "force", (count, 3)).copy()
    return np.tile(checks.real_array(force, "force", (3,)) / count, (count, 1))
