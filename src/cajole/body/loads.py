"""What air does to the triangles of a shell: wind and pressure, as forces of time, positions and velocities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body import kernels_loads as kernels
from cajole.body.noise import sample_unit_noise
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri

# [kg/m³], at 20 °C and sea level
AIR_DENSITY = 1.2
# [Pa], the standard atmosphere
ATMOSPHERIC_PRESSURE = 101_325.0
# which way gusts change where air stands: through the noise, along none of its axes
_NOISE_DRIFT = np.array([0.48, 0.6, 0.64])


@dataclass(frozen=True, eq=False)
class LoadWind:
    """Wind on the triangles of `mesh`: f = ρ/2 A |w| (across (w·n) n + along (w - (w·n) n)) on each.

    w is the air's velocity there less the triangle's, so in still air it is the drag that slows what moves. The first
    part pushes along the normal n, with the lift that inclined plates have; the second rubs along the surface.
    velocity (3,) [m/s]: of the air; density ρ [kg/m³]; across, along: shares of the full dynamic pressure.
    gusts [m/s]: root mean square of each component of noise in lumps of `scale` [m], which the air carries along and
    which besides renews itself `pace` times a second; the same seed gives the same gusts.
    Steps that take it from the last positions and velocities must stay below 2m/(ρ |w| across) [s], m the sheet's mass
    per area [kg/m²].
    """

    mesh: MeshTri
    velocity: ArrayLike = (0.0, 0.0, 0.0)
    _: KW_ONLY
    density: float = AIR_DENSITY
    normal_drag: float = 1.0
    tangential_drag: float = 0.0
    gust_speed: float = 0.0
    gust_size: float = 1.0
    gust_rate: float = 0.5
    seed: int = 0
    _triangles: NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_triangles", _check_triangles(self.mesh))
        air = checks.require_real_array(self.velocity, "the wind's velocity (m/s)", (3,)).copy()
        object.__setattr__(self, "velocity", air)
        for name, unit in (
            ("density", " (kg/m³)"),
            ("normal_drag", ""),
            ("tangential_drag", ""),
            ("gust_speed", " (m/s)"),
            ("gust_rate", " (1/s)"),
        ):
            checks.require_positive(getattr(self, name), f"the wind's {name}{unit}", allow_zero=True)
        checks.require_positive(self.gust_size, "the wind's gust_size (m)")
        checks.require_integer(self.seed, "the wind's seed", minimum=0)

    def compute_air_velocity(self, time: float, points: ArrayLike) -> Array:
        """The air's velocity (k, 3) [m/s] at points (k, 3) [m]."""
        t, x = checks.require_real_number(time, "time (s)"), checks.require_real_array(points, "points", (None, 3))
        mean = np.asarray(self.velocity)
        if not self.gust_speed:
            return np.tile(mean, (len(x), 1))
        carried = x - t * (mean + self.gust_rate * self.gust_size * _NOISE_DRIFT)
        return np.asarray(mean + self.gust_speed * sample_unit_noise(carried, self.gust_size, self.seed))

    def __call__(self, time: float, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """Forces (n, 3) [N] at positions (n, 3) [m] and velocities (n, 3) [m/s]."""
        x, v = _check_motion(self.mesh, positions, velocities)
        middles, out = np.empty((len(self._triangles), 3)), np.zeros_like(x)
        kernels.compute_centroids(x, self._triangles, middles)
        half = 0.5 * self.density
        kernels.add_wind_force(
            x,
            v,
            self.compute_air_velocity(time, middles),
            self._triangles,
            half * self.normal_drag,
            half * self.tangential_drag,
            out,
        )
        return checks.require_finite_result(out, "the wind's force")


@dataclass(frozen=True, eq=False)
class LoadPressure:
    """Pressure [Pa] along the normals of `mesh`, above that on the other side; below zero it sucks.

    volume [m³]: of gas that is locked in, under `pressure` above `ambient` [Pa] when it fills that much, and by
    Boyle's law under more where the surface closes around less; the mesh must be closed, its normals outward. Without
    a volume the pressure is constant.
    """

    mesh: MeshTri
    pressure: float
    _: KW_ONLY
    volume: float | None = None
    ambient: float = ATMOSPHERIC_PRESSURE
    _triangles: NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_triangles", _check_triangles(self.mesh))
        pressure = checks.require_real_number(self.pressure, "pressure (Pa)")
        ambient = checks.require_positive(self.ambient, "ambient pressure (Pa)", allow_zero=True)
        if self.volume is None:
            return
        checks.require_positive(self.volume, "the gas's volume (m³)")
        if pressure + ambient < 0:
            raise InputError(
                f"the gas would be under {pressure + ambient:g} Pa; a gas cannot pull, so raise `pressure`"
            )
        if not self.mesh.volume > 0:
            raise InputError("the mesh is inside out, so it holds no gas; turn its triangles round")

    def compute_pressure(self, positions: ArrayLike) -> float:
        """The pressure [Pa] at positions (n, 3) [m]. Raises SolveError for gas in a surface that is inside out."""
        x = checks.require_real_array(positions, "positions", self.mesh.vertices.shape)
        if self.volume is None:
            return float(self.pressure)
        inside = float(kernels.compute_enclosed_volume(x, self._triangles))
        if not inside > 0:
            raise SolveError(
                f"the volume of the gas is {inside:.3g} m³: its surface has turned inside out; take smaller steps, or "
                "a higher pressure"
            )
        return float((self.pressure + self.ambient) * self.volume / inside - self.ambient)

    def __call__(self, time: float, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """Forces (n, 3) [N] at positions (n, 3) [m]; time and velocities are those of every load, and unused."""
        x, _ = _check_motion(self.mesh, positions, velocities)
        out = np.zeros_like(x)
        kernels.add_pressure_force(x, self._triangles, self.compute_pressure(x), out)
        return checks.require_finite_result(out, "the force of the pressure")


def _check_triangles(mesh: MeshTri) -> NDArray[np.int32]:
    checks.require_instance(mesh, MeshTri, "mesh")
    return np.ascontiguousarray(mesh.triangles, dtype=np.int32)


def _check_motion(mesh: MeshTri, positions: ArrayLike, velocities: ArrayLike) -> tuple[Array, Array]:
    shape = mesh.vertices.shape
    return checks.require_real_array(positions, "positions", shape), checks.require_real_array(
        velocities, "velocities", shape
    )
