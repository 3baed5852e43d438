"""Wind and pressure on shells: closed forms, what they must leave alone, and the messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shell_cases import rough_sheet

from bodies import Array
from cajole.body import LoadPressure, LoadWind, noise
from cajole.errors import InputError, MeshError, SolveError
from cajole.mesh import MeshTri, box_tets, grid_triangles
from derivatives import check_derivative

SHEET = grid_triangles(4, 3, size=(2.0, 1.5))
BOX = box_tets(2, 2, 2, size=(1.0, 2.0, 3.0)).surface.compacted()[0]
STILL = np.zeros_like(SHEET.vertices)


def numpy_wind(load: LoadWind, time: float, x: Array, v: Array) -> Array:
    """The formula of its docstring, triangle by triangle."""
    out = np.zeros_like(x)
    for corners in load.mesh.triangles:
        a, b, c = x[corners]
        double = np.cross(b - a, c - a)
        area, n = 0.5 * np.linalg.norm(double), double / np.linalg.norm(double)
        w = load.compute_air_velocity(time, x[corners].mean(axis=0)[None])[0] - v[corners].mean(axis=0)
        push = load.normal_drag * (w @ n) * n + load.tangential_drag * (w - (w @ n) * n)
        out[corners] += 0.5 * load.density * area * np.linalg.norm(w) * push / 3
    return out


def test_wind_agreement(random):
    mesh = rough_sheet()
    load = LoadWind(
        mesh, (3.0, -1.0, 2.0), density=1.1, normal_drag=1.2, tangential_drag=0.1, gust_speed=2.0, gust_size=0.4, seed=3
    )
    x, v = mesh.vertices + random.uniform(-0.05, 0.05, (16, 3)), random.normal(size=(16, 3))
    np.testing.assert_allclose(load(0.7, x, v), numpy_wind(load, 0.7, x, v), rtol=0, atol=1e-13)


def test_face_on_reference():
    """A plate across the wind feels the dynamic pressure ρ/2 v² on its area, one along it only what rubs."""
    area = 3.0
    total = LoadWind(SHEET, (0.0, 0.0, 5.0), normal_drag=1.3)(0.0, SHEET.vertices, STILL).sum(axis=0)
    np.testing.assert_allclose(total, [0, 0, 1.3 * 0.6 * 25.0 * area], atol=1e-12)
    edge_on = LoadWind(SHEET, (5.0, 0.0, 0.0), tangential_drag=0.02)(0.0, SHEET.vertices, STILL).sum(axis=0)
    np.testing.assert_allclose(edge_on, [0.02 * 0.6 * 25.0 * area, 0, 0], atol=1e-12)
    inclined = LoadWind(SHEET, (3.0, 0.0, 4.0))(0.0, SHEET.vertices, STILL).sum(axis=0)
    np.testing.assert_allclose(inclined, [0, 0, 0.6 * 5.0 * 4.0 * area], atol=1e-12)


def test_moving_with_the_air_identity(random):
    """Only the velocity relative to the air counts, and the way that triangles run does not."""
    x, v = SHEET.vertices + random.uniform(-0.1, 0.1, STILL.shape), random.normal(size=STILL.shape)
    wind = (3.0, -1.0, 2.0)
    force = LoadWind(SHEET, wind, tangential_drag=0.3)(0.0, x, v)
    np.testing.assert_allclose(LoadWind(SHEET, tangential_drag=0.3)(0.0, x, v - wind), force, rtol=0, atol=1e-12)
    np.testing.assert_allclose(LoadWind(SHEET, wind)(0.0, x, STILL + wind), 0.0, atol=1e-12)
    turned = MeshTri(SHEET.vertices, SHEET.triangles[:, [0, 2, 1]])
    assert not np.array_equal(turned.triangles, SHEET.triangles)
    np.testing.assert_allclose(LoadWind(turned, wind, tangential_drag=0.3)(0.0, x, v), force, rtol=0, atol=1e-12)


def test_still_air_slows_identity(random):
    """The drag of still air takes power from any motion."""
    load = LoadWind(BOX, tangential_drag=0.2)
    for _ in range(20):
        x = BOX.vertices + random.uniform(-0.2, 0.2, BOX.vertices.shape)
        v = random.normal(size=x.shape)
        assert (load(0.0, x, v) * v).sum() < 0


def test_gusts_identity(random):
    """Of the size asked for, smooth in time and space, carried by the air, and the seed's own."""
    load = LoadWind(SHEET, (4.0, 0.0, 0.0), gust_speed=1.5, gust_size=0.5, gust_rate=0.0, seed=1)
    points = random.uniform(-60, 60, (20_000, 3))
    gusts = load.compute_air_velocity(0.3, points) - [4.0, 0.0, 0.0]
    np.testing.assert_allclose(np.sqrt((gusts**2).mean(axis=0)), 1.5, rtol=0.05)
    np.testing.assert_allclose(
        load.compute_air_velocity(0.8, points + [2.0, 0.0, 0.0]), load.compute_air_velocity(0.3, points), atol=1e-9
    )
    np.testing.assert_allclose(
        load.compute_air_velocity(0.3 + 1e-6, points), load.compute_air_velocity(0.3, points), atol=5e-4
    )
    other = LoadWind(SHEET, (4.0, 0.0, 0.0), gust_speed=1.5, gust_size=0.5, gust_rate=0.0, seed=2)
    assert abs(other.compute_air_velocity(0.3, points) - load.compute_air_velocity(0.3, points)).max() > 1.0
    living = LoadWind(SHEET, gust_speed=1.5, gust_size=0.5, gust_rate=1.0, seed=1)
    assert abs(living.compute_air_velocity(0.5, points) - living.compute_air_velocity(0.0, points)).max() > 1.0
    standing = LoadWind(SHEET, gust_speed=1.5, gust_size=0.5, gust_rate=0.0, seed=1)
    np.testing.assert_array_equal(
        standing.compute_air_velocity(0.5, points), standing.compute_air_velocity(0.0, points)
    )


def test_noise_agreement(random):
    """The compiled noise is that of NumPy, corner by corner."""
    points = random.uniform(-600, 600, (500, 3))
    table, gradients = noise._build_lattice(5)
    inside = np.mod(points, 256.0)
    corner = np.floor(inside).astype(np.int64)
    inside = inside - corner
    fade = inside**3 * (inside * (6.0 * inside - 15.0) + 10.0)
    want = np.zeros((500, 3))
    for offset in np.ndindex(2, 2, 2):
        at = (corner + offset) % 256
        hashed = table[(table[(table[at[:, 0]] + at[:, 1]) % 256] + at[:, 2]) % 256]
        share = np.where(offset, fade, 1.0 - fade).prod(axis=1)
        want += share[:, None] * np.einsum("ckx,kx->kc", gradients[:, hashed], inside - offset)
    np.testing.assert_allclose(noise.sample_perlin(points, 5), want, rtol=0, atol=1e-14)
    edge = np.array([[-1e-20, 256.0, 511.9999999999999]])
    assert np.isfinite(noise.sample_perlin(edge, 5)).all()


def test_closed_surface_balance_identity(random):
    """Constant pressure on a closed surface, however dented, neither moves nor turns it; on a sheet it lifts."""
    x = BOX.vertices + random.uniform(-0.2, 0.2, BOX.vertices.shape)
    force = LoadPressure(BOX, 700.0)(0.0, x, np.zeros_like(x))
    assert abs(force.sum(axis=0)).max() < 1e-12 * abs(force).sum()
    assert abs(np.cross(x, force).sum(axis=0)).max() < 1e-12 * abs(force).sum()
    lifted = LoadPressure(SHEET, -20.0)(0.0, SHEET.vertices, STILL).sum(axis=0)
    np.testing.assert_allclose(lifted, -20.0 * 3.0 * SHEET.normals[0], atol=1e-12)


def test_gas_derivative(random):
    """Locked in, gas pushes along the slope of -(p₀ + p_a) V₀ ln V + p_a V, by Boyle's law."""
    load = LoadPressure(BOX, 900.0, volume=5.0, ambient=2000.0)

    def energy(x: Array) -> float:
        volume = BOX.moved(x).volume
        return float(-2900.0 * 5.0 * np.log(volume) + 2000.0 * volume)

    x = BOX.vertices + random.uniform(-0.1, 0.1, BOX.vertices.shape)
    way = random.normal(size=x.shape)
    check_derivative(energy, -(load(0.0, x, way) * way).sum(), x, way)


def test_gas_reference():
    load = LoadPressure(BOX, 900.0, volume=6.0, ambient=2000.0)
    far = BOX.vertices + [1e5, -3e4, 2e4]
    assert load.compute_pressure(BOX.vertices) == pytest.approx(900.0, rel=1e-12)
    assert load.compute_pressure(far) == pytest.approx(900.0, rel=1e-8)
    assert load.compute_pressure(BOX.vertices * [0.5, 1, 1]) == pytest.approx(2 * 2900.0 - 2000.0, rel=1e-12)
    assert LoadPressure(BOX, -3.0).compute_pressure(2.0 * BOX.vertices) == -3.0


INSIDE_OUT = MeshTri(BOX.vertices, BOX.triangles[:, [0, 2, 1]])
NAN = np.full_like(SHEET.vertices, np.nan)
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "mesh": (lambda: LoadWind(box_tets(1, 1, 1)), "mesh must be a MeshTri, not MeshTet"),  # type: ignore[arg-type]
    "velocity": (lambda: LoadWind(SHEET, (1.0, 2.0)), r"the wind's velocity \(m/s\) has shape \(2,\)"),
    "density": (lambda: LoadWind(SHEET, density=-1.0), r"the wind's density \(kg/m³\) is -1.0"),
    "across": (lambda: LoadWind(SHEET, normal_drag=-1.0), "the wind's normal_drag is -1.0"),
    "gusts": (lambda: LoadWind(SHEET, gust_speed=float("inf")), r"the wind's gust_speed \(m/s\) is inf"),
    "scale": (lambda: LoadWind(SHEET, gust_size=0.0), r"the wind's gust_size \(m\) is 0.0, but must be positive"),
    "seed": (lambda: LoadWind(SHEET, seed=-1), "the wind's seed is -1"),
    "positions": (lambda: LoadWind(SHEET)(0.0, STILL[1:], STILL), r"positions has shape \(19, 3\), but \(20, 3\)"),
    "velocities": (lambda: LoadWind(SHEET)(0.0, STILL, NAN), r"velocities\[0, 0\] is nan"),
    "time": (lambda: LoadWind(SHEET)(float("nan"), STILL, STILL), r"time \(s\) is nan"),
    "pressure": (lambda: LoadPressure(SHEET, float("nan")), r"pressure \(Pa\) is nan"),
    "gas-open": (lambda: LoadPressure(SHEET, 1.0, volume=1.0), "the surface has no inside"),
    "gas-volume": (lambda: LoadPressure(BOX, 1.0, volume=0.0), r"the gas's volume \(m³\) is 0.0"),
    "gas-pull": (lambda: LoadPressure(BOX, -3.0, volume=1.0, ambient=2.0), "a gas cannot pull"),
    "gas-inside-out": (lambda: LoadPressure(INSIDE_OUT, 1.0, volume=1.0), "the mesh is inside out"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_loads_bad_input(case):
    call, message = BAD[case]
    with pytest.raises((InputError, MeshError), match=message):
        call()


def test_gas_turned_inside_out_bad_input():
    load = LoadPressure(BOX, 900.0, volume=6.0)
    with pytest.raises(SolveError, match=r"volume of the gas is -6 m³.*turned inside out; take smaller steps"):
        load.compute_pressure(BOX.vertices * [-1, 1, 1])
    with pytest.raises(SolveError, match="the wind's force overflows"):
        LoadWind(SHEET, (1e200, 0, 1e200))(0.0, SHEET.vertices, STILL)
