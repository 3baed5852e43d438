"""Result of `enrich`: the motion of the shell, its distance from the guide, and the tracking force."""

from __future__ import annotations

from dataclasses import dataclass, field

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.body.body_weights import compute_rms
from cajole.direct.enriching.collisions import CollisionReport


@dataclass(frozen=True)
class EnrichReport:
    """Report of `enrich`. newton_iterations: of all steps; residual: largest distance of a region average from that of
    the guide, in body sizes, after collisions. gentleness (frames,): tracking force as a share of the weight, root mean
    square over the steps into each frame. seconds: wall clock. collisions: their report, if requested.
    """

    regions: int
    vertices: int
    steps: int
    newton_iterations: int
    residual: float
    gentleness: Array = field(repr=False)
    seconds: float
    notes: tuple[str, ...] = ()
    collisions: CollisionReport | None = None

    @property
    def mean_gentleness(self) -> float:
        """Root mean square of the tracking force over all frames after the first, in body weights."""
        return compute_rms(self.gentleness[1:])

    @property
    def worst_frame(self) -> int:
        """Frame with the largest tracking force."""
        return int(self.gentleness.argmax())

    def __str__(self) -> str:
        most = float(self.gentleness.max(initial=0.0))
        each = 1e3 * self.seconds / max(self.steps, 1)
        rows = [
            f"enrich: {self.regions} regions on {self.vertices} vertices",
            f"  steps        {self.steps}, {self.newton_iterations} Newton iterations",
            f"  off guide    {100 * self.residual:.2g} % of the size at most",
            f"  gentleness   {self.mean_gentleness:.3g} weights (rms), {most:.3g} at most (frame {self.worst_frame})",
            f"  time         {self.seconds:.3g} s, {each:.3g} ms a step",
        ]
        if self.collisions is not None:
            rows.append(f"  collisions   {self.collisions}")
        return "\n".join(rows + [f"  {note}" for note in self.notes])


def describe_large_force(gentleness: Array) -> tuple[str, ...]:
    """Note on an unusually large tracking force (frames,) [body weights]."""
    mean = compute_rms(gentleness[1:])
    if mean <= 100.0:
        return ()
    return (
        f"it is led with {mean:.3g} weights (rms), hardest into frame {int(gentleness.argmax())}; fewer or larger "
        "regions, a softer shell or a slower guide need less",
    )


def describe_large_residual(residual: Array) -> tuple[str, ...]:
    """Note on a shell that contacts keep away from its guide (frames,) [body sizes]."""
    most, frame = float(residual.max()), int(residual.argmax())
    if most <= 0.01:
        return ()
    return (
        f"contacts keep it off its guide, by {100 * most:.2g} % of its size into frame {frame}: there the guide leads "
        "through itself or through a collider; change it there, or let surfaces come nearer (a smaller distance=)",
    )


@dataclass(frozen=True, eq=False)
class EnrichResult:
    """animation: the shell; residual (frames,): largest distance of a region average from that of the guide in steps
    into each frame, in body sizes, after collisions; report. cloth: the shell at the end, with its plastic folds.
    """

    animation: Animation
    residual: Array
    report: EnrichReport
    cloth: BodyShell

    def __repr__(self) -> str:
        return f"EnrichResult({self.animation!r}, off by {100 * self.report.residual:.2g} % of the size at most)"
