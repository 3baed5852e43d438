"""Report of an edit, and the options that its editor was opened with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cajole.arrays import Array
from cajole.body.body_weights import compute_rms
from cajole.direct.editing.constraints import ConstraintKey, OffsetKey
from cajole.direct.editing.reach import TargetError
from cajole.direct.editing.warp import WARP_FORMS

# how a linear change becomes a shape; "none" leaves it linear
WARP_NAMES = (*WARP_FORMS, "none")


@dataclass(frozen=True)
class EditReport:
    """Targets, size and added force of an edit.

    targets: the error of each (vertex, frame); the key of an offset between two vertices is (vertex, frame, other).
    max_displacement: largest displacement of any vertex in any frame; requested_displacement: longest drag. Both are in
    body sizes. The rest of the body may move farther than the dragged vertices. redundant: constraints with a direction
    that depends on earlier ones and can only agree with them. contacts: number of preserved contacts. gentleness:
    (frames,) added force [body weights]. notes: how the edit was opened; usually empty.
    """

    targets: dict[ConstraintKey, TargetError]
    max_displacement: float
    modes: int
    redundant: tuple[ConstraintKey, ...] = ()
    contacts: int = 0
    gentleness: Array = field(default_factory=lambda: np.zeros(0))
    requested_displacement: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def target_errors(self) -> dict[ConstraintKey, float]:
        """Distance of each constraint from its target, in body sizes."""
        return {key: error.in_body_sizes for key, error in self.targets.items()}

    @property
    def reached(self) -> bool:
        """True if every target was reached; see `cajole.direct.editing.reach`."""
        return all(error.is_reached for error in self.targets.values())

    @property
    def mean_gentleness(self) -> float:
        """Root mean square of the added force over all frames, in body weights."""
        return compute_rms(self.gentleness)

    def __str__(self) -> str:
        rows = [
            f"edit: {len(self.targets)} constraints, {self.modes} modes, largest change "
            f"{100 * self.max_displacement:.3g} % of the size ({100 * self.requested_displacement:.3g} % asked)"
        ]
        if self.contacts:
            rows[0] += f", {self.contacts} contacts kept"
        if self.targets:
            most = float(self.gentleness.max(initial=0.0))
            rows.append(f"  added force: {self.mean_gentleness:.3g} weights (rms), {most:.3g} at most")
        for key, error in self.targets.items():
            where = f"vertex {key.vertex}" + (f" from vertex {key.other}" if isinstance(key, OffsetKey) else "")
            rows.append(f"  {where} at frame {key.frame}: {error}")
        rows += [f"  vertex {key.vertex} at frame {key.frame} follows from other constraints" for key in self.redundant]
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])


@dataclass(frozen=True)
class EditOptions:
    """Options of `edit` that stay the same while an editor is used."""

    modes: int
    warp: str
    region: tuple[int, ...] | None
    whole: bool
    cluster: int | None
