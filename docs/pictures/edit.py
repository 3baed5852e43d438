"""Make the pictures of docs/edit.md and print its numbers: the five scenes, Figures 3 and 9 of the paper; minutes.

python docs/pictures/edit.py [bird bridge curtain stairs twist]
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

from cajole.direct import Editor
from cajole.scenes.edit_scenes import (EditScene, load_edit_scene)
from cajole.scenes.edit_scenes.pictures import (render_edit_strip)

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402  its backend comes first

HERE = Path(__file__).parent
SHOWN = {"bird": 4, "bridge": 3, "curtain": 4, "stairs": 4, "twist": 5}
# every how many frames a spline has a key, as in Figure 9
KEYS = 30


def strip(scene: EditScene, editor: Editor) -> None:
    path = HERE / f"edit_{scene.name}.jpg"
    shown = scene.frames_shown[: SHOWN[scene.name]]
    render_edit_strip(scene, editor, path, frames=shown, size=(360, 260), renderer="auto")
    print(scene.name, editor.report, sep="\n")


def catmull_rom(values: np.ndarray, every: int) -> np.ndarray:
    """The spline through every n-th value and the last one."""
    at = np.unique(np.append(np.arange(0, len(values), every), len(values) - 1))
    keys = values[at]
    slopes = np.gradient(keys, at)
    frames = np.arange(len(values))
    k = np.clip(np.searchsorted(at, frames, side="right") - 1, 0, len(at) - 2)
    span = at[k + 1] - at[k]
    t = (frames - at[k]) / span
    return (
        (2 * t**3 - 3 * t**2 + 1) * keys[k]
        + (t**3 - 2 * t**2 + t) * span * slopes[k]
        + (3 * t**2 - 2 * t**3) * keys[k + 1]
        + (t**3 - t**2) * span * slopes[k + 1]
    )


def figure_9(scene: EditScene, editor: Editor) -> None:
    """The change of one vertex of the curtain beside a spline through every thirtieth frame of it."""
    out, given = editor.animation().positions, scene.animation.positions
    change = np.asarray(out - given, dtype=float)
    vertex = int(scene.drags[-1].vertices[0])
    path = change[:, vertex, 2]
    spline = catmull_rom(path, KEYS)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
    for values, name, color in ((path, "edit", "tab:red"), (spline, "spline through every 30th frame", "tab:gray")):
        left.plot(values, color=color, label=name)
        power = np.abs(np.fft.rfft(values * np.hanning(len(values)))) ** 2
        right.semilogy(np.fft.rfftfreq(len(values), 1 / scene.animation.fps), power, color=color)
    left.set(xlabel="frame", ylabel="change of height [m]", title="a corner of the curtain")
    right.set(xlabel="frequency [Hz]", ylabel="power", xlim=(0, 15), title="what it is made of")
    left.legend(fontsize="small")
    figure.savefig(HERE / "edit_spline.png", dpi=110)


def figure_3(scene: EditScene) -> None:
    """The bird's twisted tail with more and more modes, beside what all of them do."""
    frame = scene.drags[0].frame
    full = scene.apply_drags(scene.modes)
    amplitudes = np.abs(full.compute_reduced_coordinates()[:, :200]).T
    counts = (25, 50, 100, 200, 350)
    target = full.positions(frame)
    far = np.linalg.norm(target - scene.animation.positions[frame], axis=1).max()
    errors = [np.linalg.norm(scene.apply_drags(r).positions(frame) - target, axis=1).max() / far for r in counts]
    print("figure 3:", dict(zip(counts, np.round(errors, 4))))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
    left.loglog(counts, errors, "o-", color="tab:red")
    left.set(xlabel="modes", ylabel=f"farthest from {scene.modes} modes", title="of the largest change, frame 56")
    shown = right.imshow(
        np.log10(np.maximum(amplitudes, amplitudes.max() * 1e-8)), aspect="auto", origin="lower", cmap="magma"
    )
    right.set(xlabel="frame", ylabel="mode", title="log₁₀ of the amplitudes")
    figure.colorbar(shown, ax=right)
    figure.savefig(HERE / "edit_modes.png", dpi=110)


def main() -> None:
    for name in sys.argv[1:] or SHOWN:
        scene = load_edit_scene(name)
        editor = scene.apply_drags()
        strip(scene, editor)
        if name == "curtain":
            figure_9(scene, editor)
        if name == "bird":
            figure_3(scene)


if __name__ == "__main__":
    main()
