"""The small beams and problems that the tests of `keyframe` share; everything here runs in tenths of a second."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cajole as cj
from cajole.body import BodySolid, MaterialStVK
from cajole.direct.keyframing.keys import check_keys
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.direct.keyframing.setup import ShotSetup, build_soft_problem
from cajole.mesh import box_tets

Array = NDArray[np.float64]

LENGTH = 2.0


@cache
def beam(scale: float = 1.0, young: float = 1e6, density: float = 1e3, time: float = 1.0) -> BodySolid:
    """A beam along x held at x = 0; `scale` multiplies lengths, `time` the times that damping speaks of."""
    mesh = box_tets(8, 2, 2, size=(LENGTH * scale, 0.25 * scale, 0.25 * scale))
    fixed = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return BodySolid(mesh, MaterialStVK(young, 0.3, density), fixed=fixed, damping=(0.1 / time, 0.01 * time))


def tip(body: BodySolid) -> NDArray[np.int64]:
    return np.flatnonzero(np.isclose(body.vertices[:, 0], body.vertices[:, 0].max()))


@cache
def poses() -> tuple[Array, Array]:
    """Two static poses of `beam()` with tips about half the length away from rest, to different sides."""
    body = beam()
    return tuple(
        cj.pose(body, loads={int(v): load for v in tip(body)}) for load in ((0.0, 0.0, 60.0), (0.0, -40.0, -30.0))
    )


def shot(**options: Any) -> Any:
    """The beam through both poses in 25 frames."""
    a, b = poses()
    given: dict[str, Any] = {"frames": 25, "modes": 3, "effort": 1e-3}
    return cj.keyframe(beam(), options.pop("keys", {10: a, 20: b}), **(given | options))


def problem(effort: float = 1e-3, *, mild: bool = False) -> KeyframeProblem:
    """The same in few frames, as the optimisers see it; mild: in a basis of four modes, without stiff directions."""
    a, b = poses()
    body = beam()
    keys, count = check_keys(body, {6: a, 12: b}, 13)
    setting = ShotSetup.from_keys(body, keys, count, modes=2, basis=cj.modes(body, 4).shapes if mild else None)
    return build_soft_problem(setting, effort, np.full(setting.step_count, setting.natural_dt))
