"""`Hand`: vertices of one frame while they are being dragged."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.direct.editing.landing import Grip, Landing, scales
from cajole.errors import InputError
from cajole.linalg.threads import blas_threads

if TYPE_CHECKING:
    from cajole.direct.editing.editor import Editor

Array = NDArray[np.float64]


class Hand:
    """What `Editor.grab` gives: `move` as often as wanted, then `drop`, or `cancel`; a with-block drops at its end."""

    def __init__(self, editor: Editor, grip: Grip):
        self._editor, self._grip = editor, grip
        self._looks = list[float]()
        self._landing: Landing | None = None
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

    def move(self, position: ArrayLike) -> Landing:
        """Bring the vertices to `position` (3,) [m], or (k, 3) for k of them; of a tie, to that offset."""
        self._require_open()
        holds = self._grip.holds
        given = (
            np.asarray(position, dtype=np.float64) if np.ndim(position) == 2 else np.atleast_2d(np.asarray(position))
        )
        targets = checks.real_array(given, "position (m)", (len(holds), 3))
        with blas_threads():
            aimed = [hold.at(target) for hold, target in zip(holds, targets)]
            found = self._grip.meet(aimed)
            far = float(scales(self._grip.subject, aimed).max())
        self._editor.carry(aimed, self._grip.linear)
        self._landing = Landing(float(np.abs(found.miss).max()) / far, tuple(look / far for look in found.looks))
        return self._landing

    def change(self) -> Array:
        """The linear change (n, 3) of the frame as it is now."""
        return self._grip.change(self._grip.y)

    def positions(self) -> Array:
        """(n, 3) [m] where all vertices of the frame are now."""
        return self._editor.positions(self.frame)

    def drop(self) -> Landing:
        """Let go: all other held vertices land again, and the whole drag is one step of undo."""
        self._require_open()
        self.open = False
        looks = self._landing.misses if self._landing is not None else ()
        self._landing = Landing(self._editor.dropped(), looks)
        return self._landing

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

    def _require_open(self) -> None:
        if not self.open:
            raise InputError("the hand is empty: it was dropped or cancelled; grab again")
