"""What every controller in live use has: its clock, what acts from outside, and gains made in the background."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.locking import synchronized

# Steps for which a wind is made ahead.
WIND_BLOCK = 64


class _HasTimeStep(Protocol):
    @property
    def dt(self) -> float: ...


class _HasSize(Protocol):
    @property
    def size(self) -> int: ...


class TunableController(Protocol):
    """What a controller offers whoever uses it live."""

    @property
    def reference(self) -> _HasTimeStep: ...
    @property
    def model(self) -> _HasSize: ...
    def check_parameters(self, parameters: dict[str, Any]) -> None: ...
    def retuned(self, **parameters: Any) -> Self: ...


ControllerType = TypeVar("ControllerType", bound=TunableController)


@dataclass
class ActiveForce:
    """A reduced force (r,) and for how many more steps it acts."""

    force: Array
    remaining_steps: int


class RealtimeControllerBase(ABC, Generic[ControllerType]):
    """controlled: whether feedback acts; it may be changed at any time."""

    def __init__(self, controller: ControllerType, controlled: bool):
        self.lock = threading.RLock()
        self._controller, self.controlled = controller, checks.require_bool(controlled, "controlled")
        self._active_forces: list[ActiveForce] = []
        self._sustained_force: Array | None = None
        self._disturbances: tuple[Any, ...] = ()
        self._disturbance_block, self._block_start = np.empty((0, controller.model.size)), 0
        self._external = np.zeros((1, controller.model.size))
        self._feedback = np.zeros(controller.model.size)
        self._pending_retune: Future[ControllerType] | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._pending_parameters: dict[str, Any] = {}
        self._step_count = 0

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        return f"{type(self).__name__}({how}, {self.time:.4g} s, {self._describe_error()})"

    @property
    def controller(self) -> ControllerType:
        """The one that steers now; `retune` replaces it."""
        return self._controller

    @property
    def time(self) -> float:
        """[s] since the start."""
        return self._step_count * self._controller.reference.dt

    @property
    def feedback(self) -> Array:
        """The reduced force (r,) that the controller added in the last step."""
        return self._feedback.copy()

    @property
    def is_retuning(self) -> bool:
        """Whether gains for other dials are being made."""
        return self._pending_retune is not None and not self._pending_retune.done()

    @synchronized
    def retune(self, /, **parameters: Any) -> Future[ControllerType]:
        """Have gains for other dials (as `steer` takes them) made in the background; they act once they are ready.

        Dials that are still being worked on count as well.
        Raises InputError for dials that `steer` would refuse.
        """
        self._controller.check_parameters(parameters)
        self._apply_pending_retune()
        self._pending_parameters = parameters if self._pending_retune is None else self._pending_parameters | parameters
        self._executor = self._executor or ThreadPoolExecutor(max_workers=1, thread_name_prefix="retune")
        self._pending_retune = self._executor.submit(self._controller.retuned, **self._pending_parameters)
        return self._pending_retune

    @synchronized
    def close(self) -> None:
        """Stop the background work, if any."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _describe_error(self) -> str:
        """How far it is off, in words."""

    @abstractmethod
    def _compute_disturbance_forces(self, steps: int) -> Array:
        """The reduced forces (steps, r) of the winds, from now on."""

    def _copy_forces_to(self, other: RealtimeControllerBase[ControllerType]) -> None:
        """Have a twin under the same forces at the same time."""
        other._active_forces = [replace(each) for each in self._active_forces]
        other._sustained_force, other._disturbances, other._step_count = (
            self._sustained_force,
            self._disturbances,
            self._step_count,
        )

    def _clear_forces(self) -> None:
        """Let go; winds go on."""
        self._active_forces.clear()
        self._sustained_force = None

    def _apply_pending_retune(self) -> None:
        if self._pending_retune is not None and self._pending_retune.done():
            done, self._pending_retune = self._pending_retune, None
            if done.exception() is None:
                self._controller = done.result()

    def _sum_external_forces(self) -> Array:
        """The external force (1, r) of the next step."""
        external = self._external
        external[0] = 0.0 if self._sustained_force is None else self._sustained_force
        for each in self._active_forces:
            external[0] += each.force
            each.remaining_steps -= 1
        if self._active_forces:
            self._active_forces = [each for each in self._active_forces if each.remaining_steps > 0]
        if self._disturbances:
            external[0] += self._sample_wind()
        return external

    def _sample_wind(self) -> Array:
        at = self._step_count - self._block_start
        if at >= len(self._disturbance_block):
            self._disturbance_block, self._block_start, at = (
                self._compute_disturbance_forces(WIND_BLOCK),
                self._step_count,
                0,
            )
        return self._disturbance_block[at]
