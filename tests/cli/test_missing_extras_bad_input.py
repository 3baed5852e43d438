"""Commands that need an optional package say so before any work, whichever option or suffix needs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cajole.cli import demo as gallery
from cajole.cli import output
from cajole.errors import MissingExtra

SWAY = ["--push", "x>90%: 0,0.01,0 weights for 0.1"]
# the package that is missing, the words of a command, and the extra that is named; {folder} is an empty one
CASES = {
    "demo": ("PIL", ["demo", "-o", "{folder}/demo"], "viz"),
    "demo item": ("PIL", ["demo", "--scene", "twist", "-o", "{folder}/demo"], "viz"),
    "steer plot": ("matplotlib", ["steer", "dinosaur", *SWAY, "--plot", "{folder}/a.png"], "viz"),
    "steer plot of a flow": ("matplotlib", ["steer", "swirl", "--plot", "{folder}/a.png"], "viz"),
    "steer loop of a flow": ("PIL", ["steer", "leaves", "-o", "{folder}/a.webp"], "viz"),
    "steer samples": ("distributed", ["steer", "dinosaur", "--samples", "5", "--cluster", "dask:2"], "cluster"),
    "steer scheduler": ("distributed", ["steer", "dinosaur", "--samples", "5", "--cluster", "tcp://h:1"], "cluster"),
    "simulate still": ("PIL", ["simulate", "dinosaur", "-o", "{folder}/a.png"], "viz"),
    "simulate video": ("imageio_ffmpeg", ["simulate", "dinosaur", "-o", "{folder}/a.mp4"], "viz"),
    "simulate USD": ("pxr", ["simulate", "dinosaur", "-o", "{folder}/a.usdc"], "usd"),
    "second output": ("pxr", ["simulate", "dinosaur", "-o", "{folder}/a.npz", "-o", "{folder}/a.usda"], "usd"),
    "pose": ("PIL", ["pose", "dinosaur", "-o", "{folder}/a.jpg"], "viz"),
    "modes": ("PIL", ["modes", "dinosaur", "-o", "{folder}/a.webp"], "viz"),
    "keyframe": ("pxr", ["keyframe", "dinosaur", "--key", "10: x.npz", "-o", "{folder}/a.usd"], "usd"),
    "edit": ("PIL", ["edit", "twist", "-o", "{folder}/a.gif"], "viz"),
    "enrich": ("pxr", ["enrich", "box", "-o", "{folder}/a.usdc"], "usd"),
    "enrich collisions": ("ipctk", ["enrich", "box", "--collisions", "fast", "-o", "{folder}/a.npz"], "contact"),
    "reroute": ("PIL", ["reroute", "cloth", "-o", "{folder}/a.webp"], "viz"),
    "reroute scene of images": ("skimage", ["reroute", "heart", "-o", "{folder}/a.npz"], "images"),
    "reroute images": ("skimage", ["reroute", "heart", "--images", "{folder}", "-o", "{folder}/a.npz"], "images"),
    "picture": ("PIL", ["picture", "flower", "{folder}/a.png"], "viz"),
    "picture traced": ("mitsuba", ["picture", "flower", "{folder}/a.png", "--renderer", "mitsuba"], "viz"),
    "scenes": ("PIL", ["scenes", "--render", "{folder}/all"], "viz"),
    "convert": ("pxr", ["convert", "a.npz", "{folder}/a.usdc"], "usd"),
    "studio": ("uvicorn", ["studio", "--no-browser"], "studio"),
}


@pytest.mark.parametrize("case", CASES)
def test_missing_package_is_named_before_the_work_bad_input(case, cajole, tmp_path, monkeypatch):
    module, words, extra = CASES[case]

    def begin(*_):
        pytest.fail("work began before the missing package was named")

    monkeypatch.setattr(output, "show_progress_bars", begin)
    monkeypatch.setattr(gallery, "show_progress_bars", begin)
    monkeypatch.setitem(sys.modules, module, None)
    run = cajole(*(word.format(folder=tmp_path) for word in words))
    assert run.code == 1
    assert f"pip install 'cajole[{extra}]'" in run.err
    assert not list(tmp_path.iterdir())


def test_missing_package_in_a_recipe_bad_input(cajole, tmp_path, monkeypatch):
    """A rehearsal finds it, too."""
    recipe = tmp_path / "look.toml"
    recipe.write_text('verb = "simulate"\nsource = "dinosaur"\noutput = "a.usdc"\n', encoding="utf-8")
    monkeypatch.setitem(sys.modules, "pxr", None)
    run = cajole("run", recipe, "--check")
    assert run.code == 1
    assert "pip install 'cajole[usd]'" in run.err


@pytest.mark.parametrize(
    ("module", "options"),
    [("PIL", {"path": "a.png"}), ("imageio_ffmpeg", {"path": "a.mp4"}), ("mitsuba_oidn", {"renderer": "mitsuba"})],
)
def test_picture_names_it_before_it_draws_bad_input(module, options, tmp_path: Path, monkeypatch):
    from cajole.mesh import box_tets
    from cajole.pictures import picture, render

    def draw(*_):
        pytest.fail("drawing began before the missing package was named")

    monkeypatch.setattr(render, "_render_drafts", draw)
    monkeypatch.setattr(render, "_render_by_path_tracing", draw)
    monkeypatch.setitem(sys.modules, module, None)
    if "path" in options:
        options = {"path": tmp_path / options["path"], "frames": None if module == "PIL" else 2}
    with pytest.raises(MissingExtra, match=r"cajole\[viz\]"):
        picture(box_tets(1, 1, 1), **options)
