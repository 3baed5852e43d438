"""Air loads on the triangles of a shell, wind and pressure, as functions of time, positions and velocities."""

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


@dataclass(frozen=True, eq=False)
class LoadWind:
    """Wind on the triangles of `mesh`: f = ρ/2 A |w| (normal_drag (w·n) n + tangential_drag (w - (w·n) n)) on each.

    w is the velocity of the air relative to the triangle, so still air damps the motion. The first term acts along the
    normal n and includes the lift of inclined plates; the second is skin friction.
    velocity (3,) [m/s] of the air; density ρ [kg/m³], by default at 20 °C and sea level; normal_drag, tangential_drag:
    shares of the full dynamic pressure.
    gust_speed [m/s]: root mean square of each component of a noise with features of gust_size [m]. The air carries
    it along, and it also renews itself gust_rate [1/s] times; equal seeds give equal gusts.
    Steps that use the last positions and velocities must be below 2m/(ρ |w| normal_drag) [s], m the mass of the sheet
    per area [kg/m²].
    """

    mesh: MeshTri
    velocity: ArrayLike = (0.0, 0.0, 0.0)
    _: KW_ONLY
    density: float = 1.2
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
        """Velocity of the air (k, 3) [m/s] at points (k, 3) [m]."""
        t, x = checks.require_real_number(time, "time (s)"), checks.require_real_array(points, "points", (None, 3))
        mean = np.asarray(self.velocity)
        if not self.gust_speed:
            return np.tile(mean, (len(x), 1))
        # gusts in still air drift through the noise along none of its axes
        drift = np.array([0.48, 0.6, 0.64])
        carried = x - t * (mean + self.gust_rate * self.gust_size * drift)
        return np.asarray(mean + self.gust_speed * sample_unit_noise(carried, self.gust_size, self.seed))

    def __call__(self, time: float, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """Forces (n, 3) [N] at positions (n, 3) [m] and velocities (n, 3) [m/s]."""
        x, v = _check_motion(self.mesh, positions, velocities)
        middles, out = np.empty((len(self._triangles), 3)), np.zeros_like(x)
        kernels.compute_centroids(x, self._triangles, middles)
        factors = 0.5 * self.density * self.normal_drag, 0.5 * self.density * self.tangential_drag
        kernels.add_wind_force(x, v, self.compute_air_velocity(time, middles), self._triangles, *factors, out)
        return checks.require_finite_result(out, "the wind's force")


@dataclass(frozen=True, eq=False)
class LoadPressure:
    """Pressure [Pa] along the normals of `mesh`, relative to the other side; negative values pull.

    volume [m³] of enclosed gas: it has `pressure` above `ambient` [Pa] at this volume, and by Boyle's law more in a
    smaller one; the mesh must be closed, with outward normals. Without a volume the pressure is constant.
    """

    mesh: MeshTri
    pressure: float
    _: KW_ONLY
    volume: float | None = None
    ambient: float = 101_325.0
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
        """Pressure [Pa] at positions (n, 3) [m]. Raises SolveError if the surface around the gas is inverted."""
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
        """Forces (n, 3) [N] at positions (n, 3) [m]; time and velocities are not used."""
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
