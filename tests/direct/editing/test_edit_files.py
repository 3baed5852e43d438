"""Edits in files: what is opened again moves alike, and a file for another input, or a damaged one, is refused."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cajole as cj
from bodies import beam_body
from cajole.direct.editing import Editor

MODES, FRAMES = 12, 16


@cache
def case() -> tuple[cj.BodySolid, cj.Animation]:
    body = beam_body((6, 1, 1), length=1.5, damping=(0.1, 0.002))
    return body, cj.simulate(body, frames=FRAMES, dt=1 / 30, gravity=(0, 0, -15.0))


def tip() -> int:
    return int(np.argmax(case()[0].vertices[:, 0]))


def edited(**options: Any) -> Editor:
    """A whole, a partial and a relative hold."""
    body, motion = case()
    editor = cj.edit(motion, body, MODES, **options)
    editor.drag(tip(), 8, motion.positions[8][tip()] + [0.0, 0.2, 0.0])
    editor.drag(tip(), 5, motion.positions[5][tip()] + [0.0, 0.1, 0.05], directions="z")
    editor.tie(tip(), tip() - 8, 10, motion.positions[10][tip()] - motion.positions[10][tip() - 8] + [0.0, 0.02, 0.0])
    return editor


def opened(path: Path) -> Editor:
    body, motion = case()
    return cj.load_edit(path, motion, body)


def same(a: Editor, b: Editor) -> None:
    np.testing.assert_allclose(a.animation().positions, b.animation().positions, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"warp": "additive", "ends": "free", "h": 0.02, "damping": (0.3, 0.01)},
        {"energy": "smooth", "smoothness": 3.0, "window": (1, 14)},
        {"region": range(8, 28), "cluster": None},
    ],
)
def test_opened_again_identity(tmp_path: Path, options: dict[str, Any]) -> None:
    """The same positions, settings, options and constraints; and undo begins anew."""
    made = edited(**options)
    cj.save_edit(made, tmp_path / "edit.json")
    again = opened(tmp_path / "edit.json")
    same(made, again)
    assert again.settings == made.settings
    assert again.options == made.options
    assert list(again.constraints) == list(made.constraints)
    assert not again.undo()
    assert not again.redo()


def test_saved_twice_identity(tmp_path: Path) -> None:
    """What is opened and saved again is the same file but for the rounding of partial rows; dragging goes on."""
    made = edited()
    cj.save_edit(made, tmp_path / "a.json")
    again = opened(tmp_path / "a.json")
    cj.save_edit(again, tmp_path / "b.json")
    a, b = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    np.testing.assert_allclose(a["holds"][1].pop("rows"), b["holds"][1].pop("rows"), atol=1e-12)
    assert a == b
    for editor in (made, again):
        editor.release(tip(), 8)
        editor.drag(tip(), 9, case()[1].positions[9][tip()] + [0.0, 0.0, 0.2])
    same(made, again)


def test_tuned_since_identity(tmp_path: Path) -> None:
    """Rows of a partial hold were chosen under other settings, and a target may be out of reach: both stay."""
    made = edited()
    made.tune(ends="free", damping=(0.5, 0.02))
    made.drag(tip(), 12, [9.0, 9.0, 9.0])
    cj.save_edit(made, tmp_path / "edit.json")
    same(made, opened(tmp_path / "edit.json"))


def test_made_body_and_empty_edit_identity(tmp_path: Path) -> None:
    _, motion = case()
    made = cj.edit(motion, modes=MODES)
    cj.save_edit(made, tmp_path / "edit.json")
    again = cj.load_edit(tmp_path / "edit.json", motion)
    np.testing.assert_array_equal(again.animation().positions, motion.positions)
    made.drag(tip(), 8, motion.positions[8][tip()] + [0.0, 0.2, 0.0])
    cj.save_edit(made, tmp_path / "edit.json")
    same(made, cj.load_edit(tmp_path / "edit.json", motion))


@pytest.mark.parametrize("kind", ["flying", "around", "shell"])
def test_other_bodies_identity(tmp_path: Path, kind: str) -> None:
    """A body that moves as a whole, and triangles in cells or as a sheet."""
    body, motion = case()
    options: dict[str, Any] = {"modes": MODES}
    if kind == "flying":
        thing: Any = body.with_fixed_vertices(None)
        options["whole"] = True
    else:
        used = motion.mesh.surface_vertices
        skin = cj.MeshTri(motion.mesh.vertices[used], np.searchsorted(used, motion.mesh.surface.triangles))
        motion = cj.Animation(skin, motion.positions[:, used], motion.fps)
        wall = np.flatnonzero(skin.vertices[:, 0] == 0)
        thing = (
            cj.embed_in_solid(skin, resolution=6, fixed=wall) if kind == "around" else cj.BodyShell(skin, fixed=wall)
        )
    made = cj.edit(motion, thing, **options)
    made.drag(tip(), 8, motion.positions[8][tip()] + [0.0, 0.02, 0.0])
    cj.save_edit(made, tmp_path / "edit.json")
    again = cj.load_edit(tmp_path / "edit.json", motion, thing)
    same(made, again)
    assert np.abs(made.positions(8) - motion.positions[8]).max() > 0.01


def others() -> dict[str, Callable[[], tuple[cj.Animation, cj.BodySolid | None]]]:
    body, motion = case()
    longer = beam_body((7, 1, 1), length=1.5)
    still = np.tile(longer.vertices, (FRAMES, 1, 1))
    moved = np.array(motion.positions)
    moved[3, 4, 2] += 1e-6
    flipped = cj.MeshTet(motion.mesh.vertices, motion.mesh.tets[::-1])
    larger = cj.MeshTet(1.01 * motion.mesh.vertices, motion.mesh.tets)
    stiffer = cj.BodySolid(motion.mesh, cj.MaterialStVK(young=1.001e6), fixed=body.fixed)
    return {
        "28 vertices; this one has 32": lambda: (cj.Animation(longer.mesh, still, motion.fps), longer),
        "16 frames; this one has 15": lambda: (motion.trimmed(0, 15), body),
        "30 frames per second; this one has 24": lambda: (replace(motion, fps=24), body),
        "positions over time differ": lambda: (motion.moved(moved), body),
        "elements of its mesh differ": lambda: (replace(motion, mesh=flipped), None),
        "rest shape of its mesh differ": lambda: (replace(motion, mesh=larger), None),
        "another body": lambda: (motion, stiffer),
        "give the same material, held vertices": lambda: (motion, body.with_fixed_vertices(body.fixed[:3])),
    }


@pytest.mark.parametrize("message", sorted(others()))
def test_another_input_bad_input(tmp_path: Path, message: str) -> None:
    cj.save_edit(edited(), tmp_path / "edit.json")
    motion, body = others()[message]()
    with pytest.raises(cj.FileError, match=message):
        cj.load_edit(tmp_path / "edit.json", motion, body)


def test_rounded_rate_identity(tmp_path: Path) -> None:
    """Frames per second that differ in the last digit, as 1 / dt and the number in a file do."""
    body, motion = case()
    cj.save_edit(edited(), tmp_path / "edit.json")
    rounded = replace(motion, fps=float(np.nextafter(motion.fps, 100.0)))
    (note,) = cj.load_edit(tmp_path / "edit.json", rounded, body).notes
    assert re.fullmatch("the frames per second differ by .* of those that were edited, which is rounding", note)
    with pytest.raises(cj.FileError, match=r"of 30 frames per second; this one has 30\.0000001$"):
        cj.load_edit(tmp_path / "edit.json", replace(motion, fps=30.0000001), body)


def shaken(motion: cj.Animation, by: float) -> cj.Animation:
    """The motion with noise of the amplitude `by` [m]."""
    noise = np.random.default_rng(1).uniform(-by, by, motion.positions.shape)
    return motion.moved(motion.positions + noise)


def test_rounding_is_accepted_with_a_note_agreement(tmp_path: Path) -> None:
    """Runs with other threads differ in the last digits; the edit is the same to the same digits."""
    body, motion = case()
    contacts = cj.Contacts([6], [tip()], [(0.0, 0.0, 1.0)], ["sliding"])
    turned = cj.Contacts([6], [tip()], [(1e-14, 0.0, 1.0)], ["sliding"])
    made = cj.edit(motion, body, MODES, contacts=contacts)
    made.drag(tip(), 9, motion.positions[9][tip()] + [0.0, 0.1, 0.0])
    cj.save_edit(made, tmp_path / "edit.json")
    exact = cj.load_edit(tmp_path / "edit.json", motion, body, contacts=contacts)
    again = cj.load_edit(tmp_path / "edit.json", shaken(motion, 1e-14), body, contacts=turned)
    assert exact.notes == ()
    assert "note" not in str(exact.report)
    (note,) = again.notes
    assert "rounding" in note
    assert note in str(again.report)
    np.testing.assert_allclose(again.animation().positions, made.animation().positions, atol=1e-9)


@pytest.mark.parametrize("by", [1e-7, 1e-4])
def test_more_than_rounding_is_measured_bad_input(tmp_path: Path, by: float) -> None:
    body, motion = case()
    cj.save_edit(edited(), tmp_path / "edit.json")
    with pytest.raises(cj.FileError, match="positions over time differ by about") as caught:
        cj.load_edit(tmp_path / "edit.json", shaken(motion, by), body)
    told = float(str(caught.value).split("by about ")[1].split(" m")[0])
    truth = by / np.sqrt(3.0) * np.sqrt(motion.positions.size)
    assert 0.5 * truth < told < 2.0 * truth


def test_one_vertex_elsewhere_is_measured_bad_input(tmp_path: Path) -> None:
    """Whatever vertex and frame it is; and two that move apart do not cancel."""
    body, motion = case()
    cj.save_edit(edited(), tmp_path / "edit.json")
    for frame, vertices, shift in ((0, [3], 1e-6), (FRAMES - 1, [tip()], 1e-6), (7, [2, 9], [[1e-6], [-1e-6]])):
        moved = np.array(motion.positions)
        moved[frame, vertices] += shift
        with pytest.raises(cj.FileError, match="differ by about"):
            cj.load_edit(tmp_path / "edit.json", motion.moved(moved), body)


def test_files_without_projections_identity(tmp_path: Path) -> None:
    """As earlier versions wrote them: the hashes alone decide."""
    body, motion = case()
    made = edited()
    cj.save_edit(made, tmp_path / "edit.json")
    document = json.loads((tmp_path / "edit.json").read_text())
    del document["input"]["projections"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    same(made, opened(tmp_path / "old.json"))
    with pytest.raises(cj.FileError, match=r"positions over time differ\. Open"):
        cj.load_edit(tmp_path / "old.json", shaken(motion, 1e-14), body)


def test_other_contacts_bad_input(tmp_path: Path) -> None:
    body, motion = case()
    contacts = cj.Contacts([6], [tip()], [(0.0, 0.0, 1.0)], ["sliding"])
    cj.save_edit(edited(), tmp_path / "without.json")
    with pytest.raises(cj.FileError, match="other contacts than these; leave them out"):
        cj.load_edit(tmp_path / "without.json", motion, body, contacts=contacts)
    made = cj.edit(motion, body, MODES, contacts=contacts)
    made.drag(tip(), 9, motion.positions[9][tip()] + [0.0, 0.1, 0.0])
    cj.save_edit(made, tmp_path / "with.json")
    with pytest.raises(cj.FileError, match="give those of the edit"):
        opened(tmp_path / "with.json")
    same(made, cj.load_edit(tmp_path / "with.json", motion, body, contacts=contacts))


def test_paths_bad_input(tmp_path: Path) -> None:
    with pytest.raises(cj.FileError, match="an edit is a"):
        cj.save_edit(edited(), tmp_path / "edit.npz")
    with pytest.raises(cj.FileError, match="does not exist"):
        opened(tmp_path / "missing.json")
    with pytest.raises(cj.InputError, match="editor must be a Editor"):
        cj.save_edit(None, tmp_path / "edit.json")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    (tmp_path / "long.json").write_bytes(b" " * 32_000_001)
    with pytest.raises(cj.FileError, match="longer than"):
        opened(tmp_path / "long.json")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("version",), 2, '"version" is 2'),
        (("format",), "cajole model", "no edit"),
        (("holds",), {}, "holds must be a list"),
        (("input", "projections"), [], "input.projections must be an object"),
        (("input", "projections", "motion"), [["a"]], "input.projections.motion must be a number"),
        (("input", "projections", "touching"), 7, "input.projections.touching must be a hash"),
        (("holds", 0, "vertex"), -1, r"holds\[0\].vertex is -1"),
        (("holds", 0, "vertex"), 4000, "28 vertices"),
        (("holds", 0, "vertex"), 0, "fixed by the body"),
        (("holds", 0, "frame"), 1, "frames 2..13"),
        (("holds", 0, "target"), [0, 1], r"holds\[0\].target has shape"),
        (("holds", 0, "target"), ["1", 0, 0], r"holds\[0\].target must be a number"),
        (("holds", 0, "target"), [1e300, 0, 0], "which no edit does"),
        (("holds", 0, "linear"), [True, 0, 0], r"holds\[0\].linear"),
        (("holds", 1, "directions"), [[0, 0, 2]], "orthonormal"),
        (("holds", 1, "rows"), [[0, 0]], "rows"),
        (("holds", 2, "other"), 10**30, "digits"),
        (("settings", "h"), 0, "settings.h is 0"),
        (("settings", "ends"), "loose", "'fixed', 'free'"),
        (("settings", "window"), [1], "two frames"),
        (("settings", "speed"), 1, '"speed", which is unknown'),
        (("options", "region"), ["a"], "options.region"),
        (("input", "motion"), 7, "must be a hash"),
        (("eigenvalues",), [], r"eigenvalues has shape \(0,\)"),
        (("eigenvalues",), [1.0] * MODES, "another body"),
    ],
)
def test_fields_bad_input(tmp_path: Path, place: tuple[str | int, ...], value: object, message: str) -> None:
    document = _document(tmp_path)
    inner: Any = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    (tmp_path / "edit.json").write_text(json.dumps(document))
    with pytest.raises(cj.FileError, match=message):
        opened(tmp_path / "edit.json")


def test_lacking_field_bad_input(tmp_path: Path) -> None:
    document = _document(tmp_path)
    del document["holds"][1]["linear"]
    (tmp_path / "edit.json").write_text(json.dumps(document))
    with pytest.raises(cj.FileError, match=r'holds\[1\] lacks "linear"'):
        opened(tmp_path / "edit.json")


def test_damaged_files_bad_input(tmp_path: Path) -> None:
    """Cut, with bytes changed, or with any value in the place of another: an error of Cajole's, or a sound editor."""
    raw = json.dumps(_document(tmp_path)).encode()
    refused = 0
    for damaged in _damaged(raw, random.Random(1)):
        (tmp_path / "edit.json").write_bytes(damaged)
        try:
            editor = opened(tmp_path / "edit.json")
        except cj.CajoleError:
            refused += 1
        else:
            assert np.isfinite(editor.positions(8)).all()
    assert refused > 200


def _document(folder: Path) -> Any:
    cj.save_edit(edited(), folder / "edit.json")
    return json.loads((folder / "edit.json").read_text())


def _damaged(raw: bytes, chance: random.Random) -> Iterator[bytes]:
    yield from (b"", b"null", b"[" * 100_000, b"\xff\xfe", b'{"format": NaN}', b"1e999")
    for _ in range(60):
        yield raw[: chance.randrange(len(raw))]
        mutable = bytearray(raw)
        for _ in range(chance.randint(1, 3)):
            mutable[chance.randrange(len(raw))] = chance.choice(b'0123456789-e.[]{}":,tfn\x00\xff')
        yield bytes(mutable)
    values = (
        None,
        True,
        -1,
        0,
        1,
        7,
        10**6,
        1e-320,
        1e-9,
        1e300,
        1e9,
        1e999,
        "x",
        [],
        {},
        [[]],
        [0, 0, 0],
        [[0, 0, 1]],
    )
    for _ in range(160):
        document = json.loads(raw)
        places = list(_places(document))
        inner, step = chance.choice(places)
        inner[step] = chance.choice(values)
        yield json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a document, but one number of long lists only, so that all kinds are met."""
    steps = list(value) if isinstance(value, dict) else range(len(value) if len(value) < 5 else 1)
    for step in steps:
        yield value, step
        if isinstance(value[step], dict | list):
            yield from _places(value[step])
