"""Enrich: a coarse motion becomes a thin shell with folds; regions are painted or found, and its material is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching.guides import guide_of
from cajole.errors import InputError
from cajole.progress import Progress, report
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Handler, Saved
from cajole.studio.modes.enrich_asking import HANDLERS
from cajole.studio.modes.enrich_dials import Dials, first_dials, shell_of
from cajole.studio.modes.enrich_regions import KINDS, Zones, Zoning, zones_of
from cajole.studio.modes.enrich_running import Run, animation_of, compare, run
from cajole.studio.modes.enrich_saving import kept_dials, kept_levels, kept_run, kept_zoning, saved
from cajole.studio.modes.enrich_sheet import MOST_LEVELS, Sheet, first_levels, staged, subdivided
from cajole.studio.modes.enrich_telling import told
from cajole.studio.modes.history import History, ModeUndo
from cajole.studio.opening import of_shell


@dataclass(frozen=True, eq=False)
class Moment:
    """All that undo brings back."""

    sheet: Sheet
    zones: Zones
    dials: Dials
    run: Run | None


class EnrichMode(ModeUndo[Moment]):
    """A guide, its shell, their regions, and the shell's motion."""

    name = "enrich"
    lasting = ("given",)

    def __init__(self, desk: Desk, content: Content, kept: Saved | None = None):
        if content.animation is None:
            raise InputError("there is no motion to enrich; open an animation, or make one with keys first")
        self.desk, self.content, self.scene = desk, content, content.enrich
        self.guide = guide_of(content.animation)
        self.history: History[Moment] = History()
        self.at = 0
        self.running: str | None = None
        self.present: Run | None = None
        self.crossed: tuple[int, ...] = ()
        self.run: Run | None = None
        self.free: Run | None = None
        self.sight = "led"
        own = None if self.scene is None else staged(self.guide, self.scene)
        self._staged = own
        self.own_levels = None if own is None else own.levels
        progress = desk.working("Preparing the shell")
        self._begin(own, kept, progress)
        desk.worked()

    def _begin(self, own: Sheet | None, kept: Saved | None, progress: Progress) -> None:
        if kept is None:
            self.sheet = own or subdivided(self.guide, first_levels(self.guide))
            self.dials = first_dials(self.sheet, self.scene)
            zoning = Zoning("scene" if own is not None else "hats" if self.sheet.levels else "clusters")
            self.zones = zones_of(self.sheet, zoning, self.scene, progress)
            return
        self.sheet = self.made_sheet(kept_levels(kept, MOST_LEVELS))
        self.dials = kept_dials(self, kept, first_dials(self.sheet, self.scene))
        self.zones = zones_of(self.sheet, kept_zoning(kept, self.sheet), self.scene, progress)
        found = kept_run(kept, self.sheet)
        if found is not None:
            self.run = found[0] if found[1] else replace(found[0], asked=self.asked())

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **{name: self.common[name] for name in ("undo", "redo")},  # no vertex is selected here
            "enrich": lambda message: run(self, message),
            "compare": lambda message: compare(self, message),
            **{name: partial(handler, self) for name, handler in HANDLERS.items()},
        }

    @property
    def frames(self) -> int:
        return self.dials.frames

    @property
    def fps(self) -> float:
        return self.guide.fps

    @property
    def drawn(self) -> Content:
        """The shell, with its guide in the first view."""
        opened, body = self.content, shell_of(self.sheet, replace(self.dials, shape="flat"), self.scene)
        return Content(opened.name, self.sheet.mesh, body, props=opened.props, camera=opened.camera, guide=self.guide)

    @property
    def zoned(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.zones.shell, self.zones.guide

    def state(self) -> dict[str, Any]:
        return told(self)

    def now(self, frame: int) -> Array:
        self.at = frame
        return self._guided(frame)

    def frame(self, stream: str, frame: int) -> Array | None:
        if stream == "given":
            return self._guided(frame)
        if stream == "other":
            return None
        shown = self.shown
        if shown is None:
            return self.sheet.laid(frame)
        return np.asarray(shown.positions[frame]) if frame < shown.frames else None

    @property
    def shown(self) -> Run | None:
        """What the second view plays: the run under way, else the last one, led or free."""
        if self.running is not None:
            return self.present
        return self.free if self.is_free else self.run

    def result(self) -> Content:
        """The shell's motion, for another mode. Raises InputError when there is none yet."""
        return of_shell(self.animation(), self.content)

    def animation(self, progress: Progress | None = None) -> Animation:
        """The shell's motion."""
        if self.run is None:
            raise InputError("there is no shell yet; enrich the guide first")
        report(progress, 1.0, "the shell's motion")
        return animation_of(self, self.run)

    def saved(self) -> Saved:
        return saved(self)

    # --- what the panel needs to know

    @property
    def is_staged(self) -> bool:
        """Whether the shell is the scene's own mesh."""
        return self._staged is not None and self.sheet.mesh is self._staged.mesh

    def asked(self) -> Any:
        """All that a run depends on."""
        return self.sheet.levels, self.zones.zoning.asked, self.dials

    def is_stale(self) -> bool:
        """Whether something has changed since the shell was made."""
        return self.run is not None and self.run.asked != self.asked()

    @property
    def is_free(self) -> bool:
        """Whether the second view shows the shell without its guide, under the dials as they are."""
        return self.sight == "free" and self.free is not None and self.free.asked == self.asked()

    def kinds(self) -> list[str]:
        """Zonings that the present shell can have."""
        can = {"hats": bool(self.sheet.levels), "clusters": self.sheet.lift is not None, "scene": self.is_staged}
        return [kind for kind in KINDS if can.get(kind, True)]

    def extras(self) -> bool:
        """Whether the scene's material brings air or shapes of its own."""
        cloth = None if self.scene is None else self.scene.materials.get(self.dials.material)
        return self.is_staged and cloth is not None and bool(cloth.settings)

    def made_sheet(self, levels: int | None) -> Sheet:
        """The shell of so many levels; None for the scene's own mesh. Raises InputError where there is none."""
        if self._staged is not None and levels == self._staged.levels:
            return self._staged
        if levels is None:
            raise InputError("what is open has no mesh of its own for the shell; subdivide the guide")
        return subdivided(self.guide, levels)

    def shell(self) -> BodyShell:
        """The shell as the dials ask for it. Raises InputError for folds that its mesh cannot have."""
        return shell_of(self.sheet, self.dials, self.scene)

    # --- history

    def moment(self) -> Moment:
        return Moment(self.sheet, self.zones, self.dials, self.run)

    def do(self, label: str, work: Callable[[], None], *, join: bool = False) -> None:
        """One step of undo; as it was before when it fails on the way."""
        self._changed(self.attempt(label, work, self._become, join=join), label)

    def return_to(self, moment: Moment) -> None:
        """Be as in that moment, and tell the tabs."""
        before = self.moment()
        self._become(moment)
        self._changed(before, None)

    def _become(self, moment: Moment) -> None:
        self.sheet, self.zones, self.dials, self.run = moment.sheet, moment.zones, moment.dials, moment.run
        self.at = min(self.at, self.frames - 1)

    def _changed(self, before: Moment, label: str | None) -> None:
        """Tabs are told as much as differs: other triangles, other colours, other frames."""
        self.crossed = ()
        if self.sheet is not before.sheet:
            self.desk.redraw()
        elif self.zones is not before.zones:
            self.desk.colour()
        self.desk.changed(label, motion=self.sheet is not before.sheet or self.run is not before.run)

    def _guided(self, frame: int) -> Array:
        """The guide (n̄, 3) [m] at a frame; beyond its last it stands."""
        return np.asarray(self.guide.frame(min(frame, self.guide.frames - 1)), dtype=np.float64)
