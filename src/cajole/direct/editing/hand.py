"""`Hand`: vertices of one frame while they are being dragged."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.direct.editing.holds import Hold
from cajole.direct.editing.landing import Grip, Landing, asked, scales
from cajole.errors import InputError
from cajole.linalg.threads import blas_threads
from cajole.locking import synchronized

if TYPE_CHECKING:
    from cajole.direct.editing.editor import Editor


# Drags beyond so many body sizes are mistakes.
FARTHEST = 10.0


class Hand:
    """What `Editor.grab` gives: `move` as often as wanted, then `drop`, or `cancel`; a with-block drops at its end.

    Threads may share it: its methods take turns with each other and with those of the editor.
    """

    def __init__(self, editor: Editor, grip: Grip):
        self.lock = editor.lock
        self._editor, self._grip = editor, grip
        self._looks = list[float]()
        self._landing: Landing | None = None
        self._rough = False
        self.open = True

    @property
    def frame(self) -> int:
        return self._grip.frame

    @property
    def landing(self) -> Landing:
        """How the last move, or the drop, ended."""
        if self._landing is None:
            raise InputError("nothing was moved yet; move or drop first")
        return self._landing

    @synchronized
    def move(self, position: ArrayLike, *, rough: bool = False) -> Landing:
        """Bring the vertices to `position` (3,) [m], or (k, 3) for k of them; of a tie, to that offset.

        rough: in a bounded time, as a mouse needs it: what is far may be missed until later moves or the drop.
        """
        self._require_open()
        holds = self._grip.holds
        shape = (3,) if len(holds) == 1 and checks.depth(position) < 2 else (len(holds), 3)
        targets = checks.real_array(position, "position (m)", shape).reshape(-1, 3)
        aims = [self._taken(hold, target) for hold, target in zip(holds, targets)]
        with blas_threads():
            found = self._grip.meet(aims, rough=rough)
            far = float(scales(self._grip.subject, aims).max())
        self._editor.carry(aims, self._grip.linear)
        self._landing = Landing(float(np.abs(found.miss).max()) / far, tuple(look / far for look in found.looks))
        self._rough = rough
        return self._landing

    @synchronized
    def change(self) -> Array:
        """The linear change (n, 3) of the frame as it is now."""
        return self._grip.change(self._grip.y)

    @synchronized
    def positions(self) -> Array:
        """(n, 3) [m] where all vertices of the frame are now."""
        if not self.open:
            return self._editor.positions(self.frame)
        # as the editor has it, without a sum over all modes
        with blas_threads():
            return self._grip.subject.edited(self.frame, self.change())

    @synchronized
    def drop(self) -> Landing:
        """Let go: all other held vertices land again, and the whole drag is one step of undo."""
        self._require_open()
        if self._rough and self._landing is not None and not self._landing.reached:
            self.move(np.stack([hold.target for hold in self._grip.holds]))
        self.open = False
        looks = self._landing.misses if self._landing is not None else ()
        self._landing = Landing(self._editor.dropped([hold.key for hold in self._grip.holds], self._landing), looks)
        return self._landing

    @synchronized
    def cancel(self) -> None:
        """Let go, with everything as it was before the grab."""
        self._require_open()
        self.open = False
        self._editor.cancelled()

    def __enter__(self) -> Hand:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.open and kind is None:
            self.drop()
        elif self.open:
            self.cancel()

    def _taken(self, hold: Hold, target: Array) -> Hold:
        subject = self._grip.subject
        way = hold.directions @ asked(subject, replace(hold, target=target))
        far = np.abs(way).max()
        if far > FARTHEST * subject.size:
            raise InputError(
                f"position is {far:.3g} m from where the vertex is, more than {FARTHEST:g} times the size of the body; "
                "check its units"
            )
        return hold.at(target, float(np.linalg.norm(way)))

    def _require_open(self) -> None:
        if not self.open:
            raise InputError("the hand is empty: it was dropped or cancelled; grab again")
