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
AHEAD = 64


class _Timed(Protocol):
    @property
    def dt(self) -> float: ...


class _Sized(Protocol):
    @property
    def size(self) -> int: ...


class Retunable(Protocol):
    """What a controller offers whoever uses it live."""

    @property
    def reference(self) -> _Timed: ...
    @property
    def model(self) -> _Sized: ...
    def refuse(self, dials: dict[str, Any]) -> None: ...
    def retuned(self, **dials: Any) -> Self: ...


AnyController = TypeVar("AnyController", bound=Retunable)


@dataclass
class Acting:
    """A reduced force (r,) and for how many more steps it acts."""

    force: Array
    left: int


class Living(ABC, Generic[AnyController]):
    """controlled: whether feedback acts; it may be changed at any time."""

    def __init__(self, controller: AnyController, controlled: bool):
        self.lock = threading.RLock()
        self._controller, self.controlled = controller, checks.flag(controlled, "controlled")
        self._acting: list[Acting] = []
        self._held: Array | None = None
        self._winds: tuple[Any, ...] = ()
        self._ahead, self._ahead_from = np.empty((0, controller.model.size)), 0
        self._external = np.zeros((1, controller.model.size))
        self._feedback = np.zeros(controller.model.size)
        self._pending: Future[AnyController] | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._asked: dict[str, Any] = {}
        self._steps = 0

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        return f"{type(self).__name__}({how}, {self.time:.4g} s, {self._off()})"

    @property
    def controller(self) -> AnyController:
        """The one that steers now; `retune` replaces it."""
        return self._controller

    @property
    def time(self) -> float:
        """[s] since the start."""
        return self._steps * self._controller.reference.dt

    @property
    def feedback(self) -> Array:
        """The reduced force (r,) that the controller added in the last step."""
        return self._feedback.copy()

    @property
    def retuning(self) -> bool:
        """Whether gains for other dials are being made."""
        return self._pending is not None and not self._pending.done()

    @synchronized
    def retune(self, /, **dials: Any) -> Future[AnyController]:
        """Have gains for other dials (as `steer` takes them) made in the background; they act once they are ready.

        Dials that are still being worked on count as well.
        Raises InputError for dials that `steer` would refuse.
        """
        self._controller.refuse(dials)
        self._take_over()
        self._asked = dials if self._pending is None else self._asked | dials
        self._pool = self._pool or ThreadPoolExecutor(max_workers=1, thread_name_prefix="retune")
        self._pending = self._pool.submit(self._controller.retuned, **self._asked)
        return self._pending

    @synchronized
    def close(self) -> None:
        """Stop the background work, if any."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _off(self) -> str:
        """How far it is off, in words."""

    @abstractmethod
    def _blowing(self, steps: int) -> Array:
        """The reduced forces (steps, r) of the winds, from now on."""

    def _share(self, twin: Living[AnyController]) -> None:
        """Have a twin under the same forces at the same time."""
        twin._acting = [replace(each) for each in self._acting]
        twin._held, twin._winds, twin._steps = self._held, self._winds, self._steps

    def _end_forces(self) -> None:
        """Let go; winds go on."""
        self._acting.clear()
        self._held = None

    def _take_over(self) -> None:
        if self._pending is not None and self._pending.done():
            done, self._pending = self._pending, None
            if done.exception() is None:
                self._controller = done.result()

    def _gathered(self) -> Array:
        """The external force (1, r) of the next step."""
        external = self._external
        external[0] = 0.0 if self._held is None else self._held
        for each in self._acting:
            external[0] += each.force
            each.left -= 1
        if self._acting:
            self._acting = [each for each in self._acting if each.left > 0]
        if self._winds:
            external[0] += self._blown()
        return external

    def _blown(self) -> Array:
        at = self._steps - self._ahead_from
        if at >= len(self._ahead):
            self._ahead, self._ahead_from, at = self._blowing(AHEAD), self._steps, 0
        return self._ahead[at]
