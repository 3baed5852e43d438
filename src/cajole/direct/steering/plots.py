"""Curves of runs over time: how far body or particles are off, and how much force is added."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.direct.steering.controller import ControllerRun
from cajole.direct.steering.flow_controller import FlowControllerRun
from cajole.errors import FileError, InputError
from cajole.storage import replace_atomically

MATPLOTLIB = checks.OptionalPackage(("matplotlib",), "matplotlib", "viz", "a plot of runs")
PLOT_SUFFIXES = (".png", ".jpg", ".svg", ".pdf")
# Two panels at these inches and dots per inch stay readable at half their width.
FIGURE_SIZE, DPI = (8.0, 5.0), 150
CURVE_COLORS = ("#c2452d", "#2b6cb0", "#3a7d44", "#8a5a9e", "#b7791f", "#4a5568")

ERROR_LABELS = {ControllerRun: "error, % of the size", FlowControllerRun: "farthest particle, cells"}
FORCE_LABELS = {ControllerRun: "added force, weights", FlowControllerRun: "added force, % of momentum a step"}


def plot_runs(
    runs: Mapping[str, ControllerRun | FlowControllerRun], path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write error [% of the size] and feedback [weights] over time [s] of named runs; the suffix chooses the format.

    Of flows the farthest particle [cells] and the feedback's push of a step [% of the flow's momentum].
    Runs without control have no curve of force. Raises FileError for other suffixes, MissingExtra without matplotlib.
    """
    target = check_plot_path(path)
    if not runs:
        raise InputError("there are no runs to plot")
    kind = FlowControllerRun if isinstance(next(iter(runs.values())), FlowControllerRun) else ControllerRun
    for name, run in runs.items():
        checks.require_instance(run, kind, f"run {name!r}")
    from matplotlib.figure import Figure

    figure = Figure(figsize=FIGURE_SIZE, dpi=DPI, layout="constrained")
    error, force = figure.subplots(2, 1, sharex=True)
    for color, (name, run) in zip(_cycle_colours(len(runs)), runs.items()):
        times = run.controller.reference.dt * np.arange(len(run.states))
        off, added = _extract_curves(run)
        error.plot(times, off, color=color, label=name, lw=1.6)
        if run.controlled:
            force.plot(times, added, color=color, label=name, lw=1.6)
    error.set(ylabel=ERROR_LABELS[kind], ylim=(0, None))
    force.set(ylabel=FORCE_LABELS[kind], xlabel="time, s", ylim=(0, None))
    for axes in (error, force):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.margins(x=0)
    error.legend(frameon=False, title=title, title_fontproperties={"weight": "bold"}, alignment="left")
    with replace_atomically(target) as temporary:
        figure.savefig(temporary)


def check_plot_path(path: str | os.PathLike[str]) -> Path:
    """`path` if a plot can be written there; FileError for its suffix, MissingExtra without matplotlib."""
    target = Path(path)
    if target.suffix.lower() not in PLOT_SUFFIXES:
        raise FileError(f"{target}: a plot is written as one of {' '.join(PLOT_SUFFIXES)}")
    MATPLOTLIB.require()
    return target


def _extract_curves(run: ControllerRun | FlowControllerRun) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Error and added force (frames,) in the units of ERRORS and FORCES."""
    if isinstance(run, FlowControllerRun):
        return run.distances_in_cells.max(axis=1, initial=0.0), 100 * run.gentleness
    return 100 * run.error, run.gentleness


def _cycle_colours(count: int) -> list[str]:
    return [CURVE_COLORS[k % len(CURVE_COLORS)] for k in range(count)]
