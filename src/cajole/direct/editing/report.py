"""What an editor tells about itself: how it was opened, and how well it does what was asked."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cajole.arrays import Array
from cajole.direct.editing.vertex_constraints import ConstraintKey
from cajole.direct.editing.warp import WARP_FORMS

# how a linear change becomes a shape; "none" leaves it linear
WARP_NAMES = (*WARP_FORMS, "none")


@dataclass(frozen=True)
class EditReport:
    """missed: how far each (vertex, frame) is from where it was put, in body sizes.

    moved: the largest displacement of any vertex in any frame that the edit causes; asked: the largest that a hold asks
    for. Both are in body sizes. The rest of the body may move farther than the dragged vertices.
    With an `other`, the offset between two vertices, the key is (vertex, frame, other). redundant: holds of which some
    direction follows from earlier ones, so that it can only agree with those. contacts: how many are kept.
    gentleness: (frames,) what the change adds to the forces, as a share of the body's weight, |w| / (√m g).
    notes: on how the edit was opened; mostly none.
    """

    target_errors: dict[ConstraintKey, float]
    max_displacement: float
    modes: int
    redundant: tuple[ConstraintKey, ...] = ()
    contacts: int = 0
    gentleness: Array = field(default_factory=lambda: np.zeros(0))
    requested_displacement: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def mean_gentleness(self) -> float:
        """Root mean square of the added force over all frames, in body weights."""
        return float(np.sqrt((self.gentleness**2).mean())) if len(self.gentleness) else 0.0

    def __str__(self) -> str:
        rows = [
            f"edit: {len(self.target_errors)} constraints, {self.modes} modes, largest change "
            f"{100 * self.max_displacement:.3g} % of the "
            f"size ({100 * self.requested_displacement:.3g} % asked)"
        ]
        if self.contacts:
            rows[0] += f", {self.contacts} contacts kept"
        if self.target_errors:
            most = float(self.gentleness.max(initial=0.0))
            rows.append(f"  added force: {self.mean_gentleness:.3g} weights (rms), {most:.3g} at most")
        for key, off in self.target_errors.items():
            where = f"vertex {key[0]}" + (f" from vertex {key[2]}" if len(key) == 3 else "")
            rows.append(f"  {where} at frame {key[1]}: off by {100 * off:.2g} % of the size")
        rows += [f"  vertex {key[0]} at frame {key[1]} follows from other constraints" for key in self.redundant]
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])


@dataclass(frozen=True)
class EditOptions:
    """How an editor was opened: what stays while it is used; see `edit`."""

    modes: int
    warp: str
    region: tuple[int, ...] | None
    whole: bool
    cluster: int | None
