"""Curves of runs over time: the error of body or particles, and the added force."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from cajole import checks
from cajole.direct.steering.controller import ControllerRun
from cajole.errors import FileError, InputError
from cajole.reduction import FlowShot
from cajole.storage import replace_atomically

MATPLOTLIB = checks.OptionalPackage(("matplotlib",), "matplotlib", "viz", "a plot of runs")


def plot_runs(
    runs: Mapping[str, ControllerRun[Any, Any]], path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write error [% of the size] and feedback [weights] over time [s] of named runs; the suffix chooses the format.

    Of flows the farthest particle [cells] and the feedback's push of a step [% of the flow's momentum].
    Runs without control have no curve of force. Raises FileError for other suffixes, MissingExtra without matplotlib.
    """
    target = check_plot_path(path)
    if not runs:
        raise InputError("there are no runs to plot")
    for name, run in runs.items():
        checks.require_instance(run, ControllerRun, f"run {name!r}")
    kinds = {type(run.controller.reference) for run in runs.values()}
    if len(kinds) > 1:
        raise InputError("runs of bodies and of flows have other units; plot them in two files")
    from matplotlib.figure import Figure

    # two panels at these inches and dots per inch stay readable at half their width
    figure = Figure(figsize=(8.0, 5.0), dpi=150, layout="constrained")
    error, force = figure.subplots(2, 1, sharex=True)
    colors = cycle(("#c2452d", "#2b6cb0", "#3a7d44", "#8a5a9e", "#b7791f", "#4a5568"))
    for color, (name, run) in zip(colors, runs.items()):
        reference = run.controller.reference
        times = [reference.dt * n for n in range(len(run.states))]
        off, added = 100 * run.error, run.gentleness
        if isinstance(reference, FlowShot):
            off, added = run.distances_in_cells.max(axis=1, initial=0.0), 100 * run.gentleness
        error.plot(times, off, color=color, label=name, lw=1.6)
        if run.controlled:
            force.plot(times, added, color=color, label=name, lw=1.6)
    error.set(ylabel=reference.error_label, ylim=(0, None))
    force.set(ylabel=reference.force_label, xlabel="time, s", ylim=(0, None))
    for axes in (error, force):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.margins(x=0)
    error.legend(frameon=False, title=title, title_fontproperties={"weight": "bold"}, alignment="left")
    with replace_atomically(target) as temporary:
        figure.savefig(temporary)


def check_plot_path(path: str | os.PathLike[str]) -> Path:
    """`path` if a plot can be written there; FileError for its suffix, MissingExtra without matplotlib."""
    target, suffixes = Path(path), (".png", ".jpg", ".svg", ".pdf")
    if target.suffix.lower() not in suffixes:
        raise FileError(f"{target}: a plot is written as one of {' '.join(suffixes)}")
    MATPLOTLIB.require()
    return target
