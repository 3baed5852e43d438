"""What an editor tells about itself: how it was opened, and how well it does what was asked."""

from __future__ import annotations

from dataclasses import dataclass

from cajole.direct.editing.holds import Key


@dataclass(frozen=True)
class EditReport:
    """missed: how far each (vertex, frame) is from where it was put, in body sizes; moved: the largest change asked.

    With an `other`, the offset between two vertices, the key is (vertex, frame, other). redundant: holds of which some
    direction follows from earlier ones, so that it can only agree with those. contacts: how many are kept.
    """

    missed: dict[Key, float]
    moved: float
    modes: int
    redundant: tuple[Key, ...] = ()
    contacts: int = 0

    def __str__(self) -> str:
        rows = [f"edit: {len(self.missed)} constraints, {self.modes} modes, largest change {100 * self.moved:.3g} %"]
        if self.contacts:
            rows[0] += f", {self.contacts} contacts kept"
        for key, off in self.missed.items():
            where = f"vertex {key[0]}" + (f" from vertex {key[2]}" if len(key) == 3 else "")
            rows.append(f"  {where} at frame {key[1]}: off by {100 * off:.2g} % of the size")
        rows += [f"  vertex {key[0]} at frame {key[1]} follows from other constraints" for key in self.redundant]
        return "\n".join(rows)


@dataclass(frozen=True)
class Options:
    """How an editor was opened: what stays while it is used; see `edit`."""

    modes: int
    warp: str
    region: tuple[int, ...] | None
    whole: bool
    cluster: int | None
