"""What `keyframe` returns: the motion, the controls that make it, and a report of what was asked and reached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.reduction import ReducedSolid
from cajole.reduction.bases import BasisReport

Array = NDArray[np.float64]

EARTH = 9.81  # reports speak in body weights


@dataclass(frozen=True)
class KeyframeReport:
    """What was asked, what was reached, and how gently.

    errors: distance to each key, in body sizes √(|Δu|²_M / m) / L; gentleness: added force per frame as a share of the
    body's weight, |w| / (√m g).
    """

    keys: tuple[int, ...]
    errors: tuple[float, ...]
    gentleness: Array
    cost: float
    iterations: int
    converged: bool
    seconds: float
    starts: tuple[tuple[str, float], ...]
    basis: BasisReport | None
    message: str = ""

    @property
    def mean_gentleness(self) -> float:
        """Root mean square over the frames."""
        return float(np.sqrt((self.gentleness**2).mean()))

    def __str__(self) -> str:
        rows = [f"keyframe: {self.iterations} iterations, {self.seconds:.2f} s, cost {self.cost:.6g}"]
        rows[0] += "" if self.converged else f" (not converged: {self.message})"
        rows += [f"  key at frame {f}: off by {100 * e:.3g} % of the size" for f, e in zip(self.keys, self.errors)]
        rows.append(
            f"  added force: {self.mean_gentleness:.3g} weights (rms), {self.gentleness.max(initial=0.0):.3g} at most"
        )
        rows += [f"  start from {name}: cost {cost:.6g}" for name, cost in self.starts]
        if self.basis is not None:
            rows.append("  " + str(self.basis).replace("\n", "\n  "))
        return "\n".join(rows)


@dataclass(frozen=True, eq=False)
class Shot:
    """A physical motion through keys.

    states, velocities: (frames, r); controls: (frames - 1, r), each acting on the step into the next frame;
    gains: (frames - 1, r, 2r), the feedback of the last sweep, on deviations of the predictor state.
    """

    model: ReducedSolid
    states: Array
    velocities: Array
    controls: Array
    gains: Array
    dt: float
    report: KeyframeReport

    @cached_property
    def animation(self) -> Animation:
        """The motion on the body's mesh."""
        body = self.model.body
        lifted = body.vertices + self.model.lift(self.states)
        return Animation(body.drawn_mesh(), lifted, fps=1.0 / self.dt, velocities=self.model.lift(self.velocities))
