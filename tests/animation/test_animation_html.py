"""HTML: what a page holds comes back, asks for nothing outside it, and stays as small as it should."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from animation_cases import FPS, waved

from cajole.animation import Animation, describe_file, html, read_animation
from cajole.animation.html import QuantisationGrid, decode_array, encode_array
from cajole.errors import FileError, InputError
from cajole.mesh import box_tets

pytestmark = pytest.mark.skipif(
    not (Path(html.__file__).parents[1] / "studio" / "static" / "viewer.js").is_file(),
    reason="the view is not built; python hatch_build.py builds it",
)


def coarseness(animation: Animation) -> float:
    low, high = animation.bounds
    return float((high - low).max()) / 65535


def test_surface_comes_back_identity(tmp_path: Path, tets: Animation) -> None:
    tets.write(tmp_path / "a.html")
    again = read_animation(tmp_path / "a.html")
    kept = tets.mesh.surface_vertices
    assert np.abs(again.positions - tets.positions[:, kept]).max() <= coarseness(tets)
    assert np.abs(again.mesh.vertices - tets.mesh.vertices[kept]).max() <= coarseness(tets)
    np.testing.assert_array_equal(again.mesh.triangles, np.searchsorted(kept, tets.mesh.surface.triangles))  # type: ignore[union-attr]
    assert (again.fps, again.start_frame, again.name) == (FPS, 3, "jelly")
    assert again.skin is None


def test_rest_shape_lies_where_it_likes_identity(tmp_path: Path, cloth: Animation) -> None:
    """A motion far from its rest shape is neither rounded more coarsely for it, nor shown from farther away."""
    far = replace(cloth, positions=0.01 * cloth.positions + (3000.0, 0.0, 0.0), velocities=None)
    far.write(tmp_path / "a.html")
    again = read_animation(tmp_path / "a.html")
    assert np.abs(again.positions - far.positions).max() <= coarseness(far) < 1e-5
    assert np.abs(again.mesh.vertices - cloth.mesh.vertices).max() <= np.ptp(cloth.mesh.vertices, axis=0).max() / 65535
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    header = json.loads(re.search(r'id="cajole-motion">(.*?)</script>', text)[1])  # type: ignore[index]
    np.testing.assert_allclose([header["low"], header["high"]], far.bounds, atol=1e-12)
    assert header["size"] == pytest.approx(np.linalg.norm(np.ptp(far.positions[0], axis=0)))


def test_skin_comes_back_with_its_paint_identity(tmp_path: Path, full: Animation) -> None:
    full.write(tmp_path / "a.html")
    again = read_animation(tmp_path / "a.html")
    assert full.skin is not None
    assert again.skin is not None
    assert np.abs(again.skin.colors - full.skin.colors).max() < 1 / 255
    assert np.abs(again.skin.gloss - full.skin.gloss).max() < 1 / 255
    assert np.abs(again.positions - full.skinned().positions).max() <= coarseness(full)


def test_names_cannot_leave_their_place_identity(tmp_path: Path, cloth: Animation) -> None:
    odd = replace(cloth, name="</script><b>&amp;\u2028 ü")
    odd.write(tmp_path / "a.html")
    assert read_animation(tmp_path / "a.html").name == odd.name
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.count("</script>") == text.count("<script")


def test_nothing_is_fetched_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert re.findall(r"<(?:link|img|iframe|script[^>]*\ssrc)\b", text.split('<script type="module">')[0]) == []
    assert "default-src 'none'" in text
    assert "three 0." in text  # whose code is in it
    assert "Permission is hereby granted, free of charge" in text


def test_few_frames_where_there_is_no_room_identity(tmp_path: Path) -> None:
    mesh = box_tets(6, 6, 6)
    random = np.random.default_rng(3)
    long = Animation(mesh, waved(mesh.vertices, 40) + 0.1 * random.random((40, len(mesh.vertices), 3)), fps=40.0)
    long.write(tmp_path / "all.html")
    long.write(tmp_path / "few.html", max_bytes=12_000)
    long.write(tmp_path / "tenth.html", every=10)
    whole, few, tenth = (read_animation(tmp_path / f"{name}.html") for name in ("all", "few", "tenth"))
    assert (whole.frames, tenth.frames, tenth.fps) == (40, 4, 4.0)
    assert 1 <= few.frames < 40
    header, arrays = _held(tmp_path / "few.html")
    assert sum(map(len, arrays)) <= 12_000
    every = header["every"]
    assert header["note"] in (f"every {every}{end} of 40 frames" for end in ("th", "rd", "nd", "st"))
    assert few.fps == pytest.approx(40.0 / every)
    kept = mesh.surface_vertices
    assert np.abs(few.positions - long.positions[::every][:, kept]).max() <= coarseness(long)


def _held(path: Path) -> tuple[dict, list[str]]:
    text = path.read_text(encoding="utf-8")
    header = re.search(r'id="cajole-motion">(.*?)</script>', text)
    assert header is not None
    return json.loads(header[1]), re.findall(r'<script type="text/plain" id="[^"]*">(.*?)</script>', text)


def test_notebook_shows_it_identity(cloth: Animation) -> None:
    """As a frame that holds the page; IPython asks for nothing else."""
    shown = cloth._repr_html_()
    inner = re.fullmatch(
        r'<iframe title="cloth" sandbox="allow-scripts" style="[^"]*" srcdoc="(.*)"></iframe>', shown, re.S
    )
    assert inner is not None
    page = unescape(inner[1])
    assert page.startswith("<!doctype html>")
    assert 'id="cajole-positions"' in page


def test_ipython_chooses_it_agreement(cloth: Animation) -> None:
    formatters = pytest.importorskip("IPython.core.formatters", reason="IPython comes with cajole[dev]")
    data, _ = formatters.DisplayFormatter().format(cloth)
    assert data["text/html"] == cloth._repr_html_()
    assert data["text/plain"] == repr(cloth)


def test_notebook_is_spared_what_is_too_large_identity(cloth: Animation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_NOTEBOOK_DATA_BYTES", 10)
    assert "too large for a cell" in cloth._repr_html_()
    monkeypatch.setattr(html, "_load_viewer_asset", _absent)
    monkeypatch.setattr(html, "MAX_NOTEBOOK_DATA_BYTES", 10**6)
    assert "not built" in cloth._repr_html_()


def _absent(name: str) -> str:
    raise FileError(f"{name} is not built")


def test_camera_goes_along_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "a.html", camera={"azimuth": 30, "elevation": 5, "size": (960, 640)})
    assert _held(tmp_path / "a.html")[0]["camera"] == {"azimuth": 30.0, "elevation": 5.0}


def test_info_knows_it_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "a.html")
    assert (describe_file(tmp_path / "a.html").format, describe_file(tmp_path / "a.html").frames) == (
        "HTML",
        cloth.frames,
    )


def test_other_pages_bad_input(tmp_path: Path, cloth: Animation) -> None:
    path = tmp_path / "a.html"
    for text in ("", "<html></html>", '<script type="application/json" id="cajole-motion">[]</script>'):
        path.write_text(text)
        with pytest.raises(FileError, match=r"a\.html: .*only pages that Cajole wrote"):
            read_animation(path)
    cloth.write(path)
    whole = path.read_text(encoding="utf-8")
    for old, new, message in (
        ('"version": 1', '"version": 9', "version 9"),
        ('"frames": 7', '"frames": 8', "bytes, where"),
        ('"frames": 7', '"frames": 9000000000', "bytes, where|damaged"),
        ('"vertices": 12', '"vertices": 0', "vertices"),
        ('id="cajole-tint">', 'id="cajole-tint">!', "colours are damaged"),
    ):
        path.write_text(whole.replace(old, new), encoding="utf-8")
        with pytest.raises(FileError, match=message):
            read_animation(path)


def test_damaged_pages_bad_input(tmp_path: Path, cloth: Animation, random: np.random.Generator) -> None:
    """Any letter of the motion changed: the right shapes or a FileError, never another exception."""
    path = tmp_path / "a.html"
    cloth.write(path)
    whole = path.read_text(encoding="utf-8")
    begin, end = whole.index('id="cajole-motion"'), whole.index('<script type="module">')
    for place in random.integers(begin, end, 60):
        path.write_text(whole[:place] + "7" + whole[place + 1 :], encoding="utf-8")
        with contextlib.suppress(FileError):
            assert read_animation(path).n > 0


def test_options_bad_input(tmp_path: Path, cloth: Animation) -> None:
    for options in ({"every": 0}, {"max_bytes": 0}, {"vertices": "skin"}, {"speed": 2}):
        with pytest.raises(InputError):
            cloth.write(tmp_path / "a.html", **options)
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_packing_identity(dtype: type, random: np.random.Generator) -> None:
    rows = random.integers(0, np.iinfo(dtype).max, (5, 7), dtype=dtype, endpoint=True)
    np.testing.assert_array_equal(decode_array(encode_array(rows), (5, 7), dtype, "rows"), rows)


def test_grid_rounds_to_the_nearest_step_order(random: np.random.Generator) -> None:
    grid = QuantisationGrid(np.array([-1.0, 2.0, 5.0]), np.array([3.0, 2.5, 5.0]))
    points = grid.low + random.random((50, 3)) * (grid.high - grid.low)
    assert np.abs(grid.dequantise(grid.quantise(points)) - points).max() <= grid.max_error * (1 + 1e-9)
    np.testing.assert_allclose(grid.dequantise(grid.quantise(np.stack([grid.low, grid.high]))), [grid.low, grid.high])
