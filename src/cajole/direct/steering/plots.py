"""Curves of runs over time: how far the body is off, and how much force is added."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cajole import checks
from cajole.direct.steering.runs import Run
from cajole.errors import FileError, InputError, MissingExtra
from cajole.storage import atomic_path

SUFFIXES = (".png", ".jpg", ".svg", ".pdf")
# Two panels at these inches and dots per inch stay readable at half their width.
SIZE, DPI = (8.0, 5.0), 150
COLORS = ("#c2452d", "#2b6cb0", "#3a7d44", "#8a5a9e", "#b7791f", "#4a5568")


def plot_runs(runs: Mapping[str, Run], path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write error [% of the size] and feedback [weights] over time [s] of named runs; the suffix chooses the format.

    Runs without control have no curve of force. Raises FileError for other suffixes, MissingExtra without matplotlib.
    """
    target = require_plot(path)
    if not runs:
        raise InputError("there are no runs to plot")
    for name, run in runs.items():
        checks.require_instance(run, Run, f"run {name!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "viz", "a plot of runs") from None
    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    error, force = figure.subplots(2, 1, sharex=True)
    for color, (name, run) in zip(_cycled(len(runs)), runs.items()):
        times = run.controller.reference.dt * np.arange(len(run.states))
        error.plot(times, 100 * run.error, color=color, label=name, lw=1.6)
        if run.controlled:
            force.plot(times, run.gentleness, color=color, label=name, lw=1.6)
    error.set(ylabel="error, % of the size", ylim=(0, None))
    force.set(ylabel="added force, weights", xlabel="time, s", ylim=(0, None))
    for axes in (error, force):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.margins(x=0)
    error.legend(frameon=False, title=title, title_fontproperties={"weight": "bold"}, alignment="left")
    with atomic_path(target) as temporary:
        figure.savefig(temporary)


def require_plot(path: str | os.PathLike[str]) -> Path:
    """`path` if a plot can be written there by its suffix; FileError otherwise."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise FileError(f"{target}: a plot is written as one of {' '.join(SUFFIXES)}")
    return target


def _cycled(count: int) -> list[str]:
    return [COLORS[k % len(COLORS)] for k in range(count)]
