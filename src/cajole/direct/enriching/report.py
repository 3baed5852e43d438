"""What `enrich` returns: the motion of the shell, how well it follows, and how hard it had to be pulled."""

from __future__ import annotations

from dataclasses import dataclass, field

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.body.body_weights import compute_rms
from cajole.direct.enriching.collisions import CollisionReport

# of the leading force: beyond it, root mean square, a shell is forced rather than led
LARGE_TRACKING_FORCE = 100.0
# body sizes that a mean may be off its guide before that is said in words
LARGE_RESIDUAL = 0.01


@dataclass(frozen=True)
class EnrichReport:
    """regions, steps, newton (iterations of all steps); residual: the farthest that any region's mean ever was from the
    guide's, in body sizes, after everything. gentleness (frames,): the force that leads the shell, as a share of its
    weight, root mean square over the steps into each frame. seconds: wall clock. notes: what is worth knowing.
    collisions: what they did, where they were asked for.
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
        """Root mean square of the leading force over all frames after the first, in body weights."""
        return compute_rms(self.gentleness[1:])

    @property
    def worst_frame(self) -> int:
        """The frame into which the shell is pulled hardest."""
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
    """A note on a leading force (frames,) [weights] that nothing gentle needs; none where it is usual."""
    mean = compute_rms(gentleness[1:])
    if mean <= LARGE_TRACKING_FORCE:
        return ()
    return (
        f"it is led with {mean:.3g} weights (rms), hardest into frame {int(gentleness.argmax())}; fewer or larger "
        "regions, a softer shell or a slower guide need less",
    )


def describe_large_residual(residual: Array) -> tuple[str, ...]:
    """A note on a shell that contacts hold off its guide (frames,) [body sizes]; none where it follows."""
    most, frame = float(residual.max()), int(residual.argmax())
    if most <= LARGE_RESIDUAL:
        return ()
    return (
        f"contacts keep it off its guide, by {100 * most:.2g} % of its size into frame {frame}: there the guide leads "
        "through itself or through a collider; change it there, or let surfaces come nearer (a smaller distance=)",
    )


@dataclass(frozen=True, eq=False)
class EnrichResult:
    """animation: the shell; residual (frames,): the farthest that a region's mean was from the guide's in the steps
    into each frame, in body sizes, after everything; report. cloth: the shell at the end, with folds that stay.
    """

    animation: Animation
    residual: Array
    report: EnrichReport
    cloth: BodyShell

    def __repr__(self) -> str:
        return f"EnrichResult({self.animation!r}, off by {100 * self.report.residual:.2g} % of the size at most)"
