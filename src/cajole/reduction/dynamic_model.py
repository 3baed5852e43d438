"""The interfaces of reduced dynamic models (`step`, `rollout`, `linearize`) and of the motions that `steer` tracks.

Solids and springs (`ReducedModel`) and flows (`ReducedFlow`) implement `DynamicModel`. `Reference` (of a body) and
`FlowShot` (of a flow) implement `NominalTrajectory`: the motion that a controller tracks, and the units of its errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.arrays import Array


class StepJacobians(NamedTuple):
    """Derivatives of one step, x' = by_state x + by_control w to first order: (s, s) and (s, r)."""

    by_state: Array
    by_control: Array


class StateTrajectory(Protocol):
    """The result of a rollout: stacked_states (T+1, s), one state x per row, in the order of `DynamicModel.step`."""

    @property
    def stacked_states(self) -> Array: ...


@runtime_checkable
class Disturbance(Protocol):
    """A force with a reduced form of its own: w (steps, r) at the frames first_frame, first_frame + 1, ...

    For a body, the force at a frame acts in the step that ends there; for a flow, in the step that starts there.
    """

    def compute_reduced_force(self, model: Any, dt: float, first_frame: int, steps: int) -> Array: ...


class DynamicModel(ABC):
    """A discrete-time system x' = step(x, w) in a basis of r columns, with one control per column.

    basis: (n, r); the state x (s,) holds the predictor state (P, V) (2r,) of a body, or particles and mode
    coordinates (p, z) (2N + r,) of a flow; the control w (r,) is a reduced force.
    """

    basis: Array
    # [s] of a live push whose duration is not given
    default_push_duration: float

    @property
    def size(self) -> int:
        """Number of coordinates r."""
        return int(self.basis.shape[1])

    @abstractmethod
    def step(self, state: ArrayLike, control: ArrayLike, dt: float) -> Array:
        """The state (s,) after a step of dt [s] under the control (r,)."""

    @abstractmethod
    def linearize(self, state: ArrayLike, control: ArrayLike, dt: float) -> StepJacobians:
        """Exact derivatives of `step` by state and control."""

    @abstractmethod
    def rollout(self, controls: ArrayLike, dt: float, state: ArrayLike | None = None) -> StateTrajectory:
        """Simulate under controls (T, r) from reduced coordinates (r,); None starts at rest.

        Raises NotConverged or SolveError naming the reason.
        """

    @abstractmethod
    def project_disturbances(self, force: Any, dt: float, first_step: int, steps: int) -> Array:
        """w (steps, r) of an external force, of any kind that `run` accepts, in `steps` steps from first_step on."""

    @abstractmethod
    def project_push(self, location: Any, force: ArrayLike, duration: float, radius: float | None) -> Array:
        """w (r,) of a push: a force (3,) [N] on a vertex of a body, or an acceleration (2,) [m/s²] of a flow within
        `radius` [m] of a point. Raises InputError for wrong arguments."""


class NominalTrajectory(ABC):
    """A motion of T steps of dt [s] that a controller tracks, with the feed-forward (T, r) that produces it.

    linear_range: deviation beyond which the gains, which are linear, may fail: a distance in units of the size
    (diagonal of the box) of body or flow.
    """

    model: DynamicModel
    dt: float
    feed_forward: Array
    substeps: int = 1  # steps per frame
    linear_range: ClassVar[float]
    error_label: ClassVar[str]
    force_label: ClassVar[str]

    @property
    def step_count(self) -> int:
        """Number of steps T."""
        return len(self.feed_forward)

    @property
    @abstractmethod
    def stacked_states(self) -> Array:
        """(T+1, s) states x before each step, in the order of `DynamicModel.step`."""

    @property
    def is_periodic(self) -> bool:
        """True if the first frame follows the last."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """Inconsistencies of motion and model, each with its remedy."""
        return ()

    @abstractmethod
    def compute_gentleness(self, feedback: Array) -> Array:
        """Size (...) of reduced forces (..., r) in body weights; of a flow as a share of its momentum per step."""

    @property
    @abstractmethod
    def effort_unit(self) -> float:
        """Squared reduced force that counts as effort 1, the unit of `effort` in `steer`."""

    @abstractmethod
    def compute_error(self, states: Array, particles: Array, frames: NDArray[np.int64]) -> Array:
        """Distances (k,) of states (k, r) and particles (k, N, 2) from the given frames (k,) of the motion.

        In body sizes; of a flow the rms over particles in box sizes, or of the velocities if there are no particles.
        """

    def compute_particle_distances(self, particles: Array, frames: NDArray[np.int64]) -> Array:
        """Distances (k, N) [m] of particles (k, N, 2) from their places in `frames`; a body has none, (k, 0)."""
        return np.zeros(particles.shape[:2])
