"""Controllers in files: what is loaded runs as what was saved, to the last bit, and damage is named."""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import steer_cases as cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cajole as cj
from bodies import springs_many
from cajole.direct.steering.serialization import CONTROLLER_VERSION, StandaloneModel
from cajole.reduction.reduced_solid import reduce_with_offset
from cajole.storage import read_arrays


def around() -> cj.Reference:
    """A reference of a body that is held away from its rest."""
    body = cases.beam()
    bent = cj.pose(body, loads={body.vertex_count - 1: (0.0, 0.0, -40.0)})
    return cases.moving(reduce_with_offset(body, bent, cj.modes(body, 3).shapes))


def net() -> cj.Reference:
    body = springs_many()
    return cases.moving(cj.reduce(body, cj.modes(body, 3)))


MOTIONS: dict[str, Any] = {
    "shot": cases.shot,
    "loop": lambda: cases.shot(loop=True),
    "motion": lambda: cases.moving(cases.model(), loop=True),
    "offset": around,
    "springs": net,
}
DIALS: dict[str, dict[str, Any]] = {
    "shot": {"final": 3.0, "frames": {4: 2.0, 9: 0.0}},
    "loop": {"tracking": lambda t: 1.0 + t, "vertices": [3, 20]},
    "motion": {"formulation": "continuous", "vertices": {3: 1.0, 7: 2.5}},
    "offset": {"tracking": np.diag([1.0, 2.0, 3.0]), "final": np.eye(6), "effort": lambda t: 0.1 + t},
    "springs": {"effort": np.diag([0.1, 0.2, 0.3])},
}


@cache
def steered(name: str) -> cj.Controller:
    return cj.steer(MOTIONS[name](), **DIALS[name])


def sent(controller: cj.Controller, folder: Path) -> cj.Controller:
    controller.save(folder / "controller.npz")
    return cj.load_controller(folder / "controller.npz")


def disturbance(controller: cj.Controller, strength: float = 0.3) -> list[Any]:
    body = controller.model.body
    force = strength * 9.81 * body.total_mass
    return [cj.Push(body.vertex_count - 1, (0.1 * force, 0.5 * force, force), 0.06, 0.1), cj.Wind(2.0, seed=4)]


@pytest.mark.parametrize("name", MOTIONS)
def test_loaded_runs_as_saved_identity(name: str, tmp_path: Path) -> None:
    here = steered(name)
    there = sent(here, tmp_path)
    assert isinstance(there.model, StandaloneModel)
    for controlled in (True, False):
        a, b = (c.run(force=disturbance(here), controlled=controlled, loops=2) for c in (here, there))
        assert a.error.max() > 1e-4
        for part in ("states", "velocities", "feedback", "error", "gentleness", "effort"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
        np.testing.assert_array_equal(a.animation.positions, b.animation.positions)


@pytest.mark.parametrize("name", MOTIONS)
def test_loaded_retunes_as_saved_agreement(name: str, tmp_path: Path) -> None:
    """Derivatives are made anew and dials come back, functions of time included."""
    here = steered(name)
    there = sent(here, tmp_path)
    for changed in ({}, {"final": 0.5}, {"effort": 0.2, "vertices": {5: 1.0}, "frames": None}):
        a, b = here.retuned(**changed).gains, there.retuned(**changed).gains
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * np.abs(a).max())
    np.testing.assert_allclose(here.retuned().gains, here.gains, rtol=0, atol=1e-11 * np.abs(here.gains).max())


@pytest.mark.parametrize("name", MOTIONS)
def test_saved_again_identity(name: str, tmp_path: Path) -> None:
    """A loaded controller writes the file it came from."""
    there = sent(steered(name), tmp_path)
    there.save(tmp_path / "again.npz")
    first, again = read_arrays(tmp_path / "controller.npz"), read_arrays(tmp_path / "again.npz")
    assert list(first) == list(again)
    for key in first:
        np.testing.assert_array_equal(first[key], again[key], err_msg=key)


@pytest.mark.parametrize("name", MOTIONS)
def test_travelling_model_identity(name: str, tmp_path: Path, random: np.random.Generator) -> None:
    """Forces, stiffness and shapes without the body are those with it."""
    here = steered(name).model
    there = sent(steered(name), tmp_path).model
    z, v = random.standard_normal((2, here.size)) * 0.1
    rest = here.energy(np.zeros(here.size))
    assert there.energy(z) == pytest.approx(here.energy(z) - rest + there.energy(0 * z), rel=1e-9)
    for ask in ("force", "stiffness"):
        a, b = getattr(here, ask)(z), getattr(there, ask)(z)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * np.abs(a).max())
    a = here.stiffness_derivative(z, v)
    np.testing.assert_allclose(there.stiffness_derivative(z, v), a, rtol=0, atol=1e-12 * np.abs(a).max())
    np.testing.assert_array_equal(there.lift(z), here.lift(z))
    np.testing.assert_allclose(there.project(there.lift(z)), z, atol=1e-12)
    np.testing.assert_array_equal(there.body.vertex_masses, here.body.vertex_masses)


def test_loaded_is_live_identity(tmp_path: Path) -> None:
    here, there = (c.start() for c in (steered("loop"), sent(steered("loop"), tmp_path)))
    for live in (here, there):
        live.push(here.controller.model.body.vertex_count - 1, (0.0, 0.0, 30.0), 0.2)
        live.step(9)
        live.seek()
        live.controlled = False
        live.step(30)
    np.testing.assert_array_equal(here.state, there.state)
    np.testing.assert_array_equal(here.compute_positions(), there.compute_positions())
    assert (here.frame, here.error, here.gentleness) == (there.frame, there.error, there.gentleness)
    assert str(here.controller.reference) == str(there.controller.reference)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    tracking=st.floats(0.0, 1e3), final=st.floats(0.1, 1e3), effort=st.floats(1e-4, 1e2),
    push=st.floats(0.0, 1.0), frames=st.dictionaries(st.integers(1, 12), st.floats(0.0, 10.0)),
)  # fmt: skip
def test_any_dials_identity(
    tracking: float, final: float, effort: float, push: float, frames: dict[int, float], tmp_path: Path
) -> None:
    motion = cases.moving(cases.model())
    here = cj.steer(motion, tracking=tracking, final=final, effort=effort, frames=frames)
    there = sent(here, tmp_path)
    dials = there.cost_weights
    assert (dials.tracking, dials.final, dials.effort, dials.frames) == (tracking, final, effort, frames)
    force = disturbance(here, push)
    np.testing.assert_array_equal(here.run(force=force).states, there.run(force=force).states)


def test_file_is_plain_identity(tmp_path: Path) -> None:
    """Stored, not compressed, and no array that NumPy would have to unpickle."""
    steered("loop").save(tmp_path / "controller.npz")
    with zipfile.ZipFile(tmp_path / "controller.npz") as archive:
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
    arrays = read_arrays(tmp_path / "controller.npz")
    assert {array.dtype.str for array in arrays.values()} <= {"<f8", "<i8", "<i4", "<U17", "<U8"}
    assert "Gq" not in arrays


# --- bad input


def rewritten(folder: Path, **changes: Any) -> Path:
    """The file of a controller with other arrays in it; None takes one away."""
    steered("motion").save(folder / "whole.npz")
    arrays = read_arrays(folder / "whole.npz") | changes
    np.savez(folder / "changed.npz", **{name: array for name, array in arrays.items() if array is not None})
    return folder / "changed.npz"


NAN = np.array(np.nan)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"version": np.array(CONTROLLER_VERSION + 1)},
            f"format version {CONTROLLER_VERSION + 1}, and this Cajole reads version {CONTROLLER_VERSION}",
        ),
        ({"version": np.array("one")}, "format version one"),
        ({"format": np.array("cajole animation")}, "not marked as a 'cajole controller'"),
        ({"format": None}, "not marked as a 'cajole controller'"),
        ({"gains": None}, "no array 'gains'"),
        ({"gains": np.zeros((3, 4, 8))}, r"gains has shape \(3, 4, 8\), but \(12, 4, 8\) is needed"),
        ({"basis": np.zeros((5, 4))}, r"basis has shape"),
        ({"quartic": np.full((4, 20), np.nan)}, r"quartic\[0, 0\] is nan"),
        ({"course": np.full((2, 13, 2, 4), 1e200)}, "overflows"),
        ({"dt": np.array(-0.1)}, "dt is -0.1, but must be positive"),
        ({"frequency": NAN}, "frequency is nan, but must be finite"),
        ({"dt": np.array("soon")}, "dt must be a number"),
        ({"course": np.array("here")}, "course holds <U4, not real numbers"),
        ({"kind": np.array(2)}, "kind is 2, but must be between 0 and 1"),
        ({"loop": np.array(0.5)}, "loop must be a whole number"),
        ({"formulation": np.array("guess")}, "formulation is 'guess'"),
        ({"triangles": np.array([[0, 1, 99]])}, r"triangles\[0, 2\] is 99, outside"),
        ({"mass_indptr": np.zeros(20, dtype=np.int64)}, "cannot load a controller"),
        ({"feed_forward": np.empty((0, 4))}, "no steps"),
        ({"tracking": NAN}, "tracking is nan"),
        ({"tracking_over_time": np.zeros((3,))}, r"tracking_over_time has shape \(3,\), but \(12,\)"),
        ({"frame_numbers": np.array([-1])}, r"frame_numbers\[0\] is -1"),
    ],
)
def test_foreign_arrays_bad_input(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(cj.FileError, match=f"{message}.*write it again with controller.save") as caught:
        cj.load_controller(rewritten(tmp_path, **changes))
    assert "changed.npz" in str(caught.value)


@pytest.mark.parametrize("name", ["dt", "size", "frequency", "total_mass"])
@pytest.mark.parametrize("value", [1e300, 1e-300])
def test_extreme_numbers_bad_input(name: str, value: float, tmp_path: Path) -> None:
    """Squares of such numbers overflow while the controller runs."""
    cj.steer(cases.shot()).save(tmp_path / "whole.npz")
    with np.load(tmp_path / "whole.npz") as whole:
        np.savez(tmp_path / "other.npz", **(dict(whole) | {name: np.array(value)}))
    with pytest.raises(cj.FileError, match=f"{name} is {value:g}".replace("+", r"\+")):
        cj.load_controller(tmp_path / "other.npz")


def test_pickle_is_never_loaded_bad_input(tmp_path: Path) -> None:
    np.savez(tmp_path / "evil.npz", format=np.array([{"code": 1}], dtype=object))
    with pytest.raises(cj.FileError, match=r"evil\.npz.*could run code"):
        cj.load_controller(tmp_path / "evil.npz")


@pytest.mark.parametrize("text", [b"", b"PK\x03\x04", b"not a file of arrays", b"\x93NUMPY"])
def test_other_files_bad_input(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "other.npz").write_bytes(text)
    with pytest.raises(cj.FileError, match=r"other\.npz"):
        cj.load_controller(tmp_path / "other.npz")
    with pytest.raises(cj.FileError, match=r"absent\.npz"):
        cj.load_controller(tmp_path / "absent.npz")


@pytest.mark.parametrize("shape", ["(99999999999999,)", "(99999999999999999999,)", "(-1,)"])
def test_boastful_array_bad_input(shape: str, tmp_path: Path) -> None:
    """An array that claims more numbers than any memory holds is refused, not made."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with zipfile.ZipFile(tmp_path / "large.npz", "w") as archive:
        archive.writestr(
            "gains.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)
        )
    with pytest.raises(cj.FileError, match=r"large\.npz"):
        cj.load_controller(tmp_path / "large.npz")


@pytest.mark.parametrize("packed", [False, True], ids=["stored", "compressed"])
def test_damage_bad_input(packed: bool, tmp_path: Path, random: np.random.Generator) -> None:
    """A file cut anywhere is refused; a changed byte is refused, or was one that no number depends on."""
    steered("motion").save(tmp_path / "whole.npz")
    if packed:
        np.savez_compressed(tmp_path / "whole.npz", **read_arrays(tmp_path / "whole.npz"))
    whole = (tmp_path / "whole.npz").read_bytes()
    states = steered("motion").run().states
    path = tmp_path / "damaged.npz"
    for size in random.integers(0, len(whole), 40):
        path.write_bytes(whole[:size])
        with pytest.raises(cj.FileError, match=r"damaged\.npz"):
            cj.load_controller(path)
    refused = 0
    for place in random.integers(0, len(whole), 120):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            np.testing.assert_array_equal(cj.load_controller(path).run().states, states)
        except cj.FileError:
            refused += 1
    assert refused > 60


def test_save_bad_input(tmp_path: Path) -> None:
    """A file that cannot be written leaves the old one as it was."""
    target = tmp_path / "controller.npz"
    target.write_text("before")
    with pytest.raises(cj.InputError, match="skin must be a Skin, not str"):
        steered("motion").save(target, skin="blue")  # type: ignore[arg-type]
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(cj.FileError, match="cannot write"):
        steered("motion").save(target / "below.npz")


def test_body_left_behind_bad_input(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match=r"no 'stiffness' of its body.*use the body it was made from"):
        sent(steered("motion"), tmp_path).model.body.stiffness()
