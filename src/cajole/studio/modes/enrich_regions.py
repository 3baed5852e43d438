"""Which averages a shell shares with its guide in the studio: hats, clusters, the scene's own, or painted by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import IndexArray
from cajole.direct.enriching import Regions, regions_clustered, regions_painted, regions_subdivided
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.progress import Progress
from cajole.scenes.enriching import EnrichScene
from cajole.studio.modes.enrich_sheet import Sheet

KINDS = ("hats", "clusters", "scene", "paint")
SIDES = ("guide", "shell")
# vertices that belong to no region
NONE = -1


@dataclass(frozen=True, eq=False)
class Zoning:
    """What was asked for. count, seed: of clusters; guide (n̄,), shell (n,): painted regions, -1 for none."""

    kind: str = "hats"
    count: int = 24
    seed: int = 0
    guide: IndexArray | None = None
    shell: IndexArray | None = None

    @property
    def asked(self) -> tuple[Any, ...]:
        """What makes one zoning the same as another."""
        paint = () if self.guide is None or self.shell is None else (self.guide.tobytes(), self.shell.tobytes())
        return (self.kind, *((self.count, self.seed) if self.kind == "clusters" else ()), *paint)


@dataclass(frozen=True, eq=False)
class Zones:
    """A zoning on a sheet. guide (n̄,), shell (n,): the region of each vertex, for drawing, -1 for none.

    motion: the guide that the regions follow; regions: None, with the `problem` in words, where they cannot be.
    """

    zoning: Zoning
    guide: IndexArray
    shell: IndexArray
    motion: Animation
    regions: Regions | None
    problem: InputError | None = None

    @property
    def numbers(self) -> list[int]:
        """The regions that there are, in order."""
        return [int(number) for number in np.union1d(self.guide, self.shell) if number >= 0]

    @property
    def covered(self) -> float:
        """The share of the shell's vertices that belong to a region."""
        return float((self.shell >= 0).mean())


def zones_of(sheet: Sheet, zoning: Zoning, scene: EnrichScene | None, progress: Progress | None = None) -> Zones:
    """The regions of a sheet; paint that does not make regions yet is kept, with what is wrong with it.

    Raises InputError for hats and clusters that the sheet cannot have, Cancelled.
    """
    if zoning.kind == "paint":
        return _painted(sheet, zoning)
    if zoning.kind == "scene":
        if scene is None:
            raise InputError("what is open came without regions of its own; cluster them, or paint them")
        return _found(sheet, zoning, scene.regions, sheet.guide)
    if zoning.kind == "clusters":
        motion = sheet.followed
        return _found(
            sheet, zoning, regions_clustered(motion, zoning.count, seed=zoning.seed, progress=progress), motion
        )
    if not sheet.levels:
        raise InputError("hats need a shell that is finer than its guide; subdivide it, or cluster its triangles")
    return _found(sheet, zoning, regions_subdivided(sheet.coarse, sheet.levels)[1], sheet.guide)


def brushed(sheet: Sheet, zones: Zones, side: str, nodes: list[int], region: int | None, *, both: bool) -> Zoning:
    """The zoning after a stroke over vertices of one side. region: None for a new one, -1 to erase.

    both: what lies there on the other side goes along, where guide and shell lie on each other.
    """
    number = max(zones.numbers, default=NONE) + 1 if region is None else region
    if number != NONE and region is not None and number not in zones.numbers:
        raise InputError(f"there is no region {number}; choose one of the list, or begin a new one")
    guide, shell = zones.guide.copy(), zones.shell.copy()
    touched = np.asarray(nodes, dtype=np.int64)
    goes_along = both or not sheet.is_paired
    if side == "guide":
        guide[touched] = number
        if goes_along and sheet.owners is not None:
            shell[np.isin(sheet.owners, touched)] = number
    else:
        shell[touched] = number
        if goes_along and sheet.nearest is not None:
            guide[np.isin(sheet.nearest, touched)] = number
    return painting(sheet, zones.zoning, guide, shell)


def painting(sheet: Sheet, zoning: Zoning, guide: IndexArray, shell: IndexArray) -> Zoning:
    """A zoning of painted vertices; where the shell is the guide's mesh, subdivided, its paint is the guide's, too."""
    if not sheet.is_paired and sheet.nearest is not None:
        guide = shell[sheet.nearest]
    return replace(zoning, kind="paint", guide=guide, shell=shell)


def without(sheet: Sheet, zones: Zones, region: int) -> Zoning:
    """The zoning without one region: its vertices belong to none."""
    if region not in zones.numbers:
        raise InputError(f"there is no region {region}; choose one of the list")
    guide, shell = (np.where(side == region, NONE, side) for side in (zones.guide, zones.shell))
    return painting(sheet, zones.zoning, guide, shell)


def carried(sheet: Sheet, zones: Zones) -> Zoning:
    """Painted regions of another shell on this one, by way of the guide; other zonings stay as they are."""
    if zones.zoning.kind != "paint":
        return zones.zoning
    shell = np.full(len(sheet.mesh.vertices), NONE) if sheet.owners is None else zones.guide[sheet.owners]
    return painting(sheet, zones.zoning, zones.guide, shell)


def _painted(sheet: Sheet, zoning: Zoning) -> Zones:
    assert zoning.guide is not None
    assert zoning.shell is not None
    guide, shell = zoning.guide, zoning.shell
    motion, labels = (sheet.guide, guide) if sheet.is_paired else (sheet.followed, shell)
    assert isinstance(motion.mesh, MeshTri)
    try:
        sides = {"guide_on": "vertices", "fine_on": "vertices"}
        regions = regions_painted(motion.mesh, labels, sheet.mesh, shell, **sides)
    except InputError as problem:
        return Zones(zoning, guide, shell, motion, None, _plainer(problem))
    return Zones(zoning, guide, shell, motion, regions)


def _found(sheet: Sheet, zoning: Zoning, regions: Regions, motion: Animation) -> Zones:
    guide, shell = regions.guide_labels, regions.labels
    if len(guide) != sheet.guide.n:  # of the guide on the shell's triangles
        assert sheet.nearest is not None
        guide = guide[sheet.nearest]
    return Zones(zoning, guide, shell, motion, regions)


def _plainer(problem: InputError) -> InputError:
    """What is wrong with paint, in the studio's words."""
    text = str(problem)
    if "paints nothing" in text:
        return InputError("no vertex belongs to a region; paint one on the guide and on the shell")
    words = (("fine mesh", "shell"), (" (regions.without, joined(..., dependent='drop'))", ""))
    for old, new in words:
        text = text.replace(old, new)
    return InputError(text)
