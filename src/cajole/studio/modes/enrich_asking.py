"""What an author asks of a shell before it moves: its mesh, its regions, and the numbers of its material and air."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cajole.studio import take
from cajole.studio.modes.base import Message
from cajole.studio.modes.enrich_dials import dialled, materials_of, of_material, shell_of
from cajole.studio.modes.enrich_regions import (
    KINDS,
    NONE,
    SIDES,
    Zones,
    Zoning,
    brushed,
    carried,
    painting,
    without,
    zones_of,
)
from cajole.studio.modes.enrich_sheet import most_levels

if TYPE_CHECKING:
    from cajole.studio.modes.enrich import EnrichMode


def shell(mode: EnrichMode, message: Message) -> None:
    """Another mesh for the shell; what was made on the old one stays in the history."""
    levels = None
    if message["levels"] is not None:
        levels = take.integer(message, "levels", 0, most_levels(mode.guide))
    if levels == mode.sheet.levels:
        return
    made = mode.made_sheet(levels)
    progress = mode.desk.working("Subdividing the guide")

    def work() -> None:
        old, mode.sheet = mode.zones, made
        zoning = carried(made, old)
        if zoning.kind not in mode.kinds():
            zoning = Zoning("hats" if made.levels else "clusters")
        mode.zones = zones_of(made, zoning, mode.scene, progress)
        mode.run = None
        if mode.dials.shape == "own" and not mode.is_staged:
            mode.dials = replace(mode.dials, shape="flat")

    mode.do("set levels", work)
    mode.desk.worked()


def regions(mode: EnrichMode, message: Message) -> None:
    """Regions found from the motion, or of another kind; a slider under the hand is one step of undo."""
    zoning = mode.zones.zoning
    kind = take.one_of(message, "kind", KINDS) if "kind" in message else "clusters"
    if kind == "paint":
        zoning = painting(mode.sheet, zoning, mode.zones.guide, mode.zones.shell)
    else:
        most = len(mode.sheet.mesh.triangles)
        count = take.integer(message, "count", 1, most) if "count" in message else zoning.count
        seed = take.integer(message, "seed") if "seed" in message else zoning.seed
        zoning = Zoning(kind, count, seed)
    progress = mode.desk.working("Finding regions")
    made = zones_of(mode.sheet, zoning, mode.scene, progress)
    mode.desk.worked()
    _zone(mode, "set regions", made, join=True)


def paint(mode: EnrichMode, message: Message) -> Mapping[str, Any]:
    """One stroke of the brush; the answer has the region that it painted, -1 where it erased."""
    side = take.one_of(message, "on", SIDES)
    limit = mode.guide.n if side == "guide" else len(mode.sheet.mesh.vertices)
    nodes = take.nodes(message, "nodes", limit)
    region = None if message["region"] is None else take.integer(message, "region", NONE)
    zoning = brushed(mode.sheet, mode.zones, side, nodes, region, both=take.flag(message, "both", True))
    label = "erase regions" if region == NONE else "new region" if region is None else f"paint region {region}"
    _zone(mode, label, zones_of(mode.sheet, zoning, mode.scene))
    painted = mode.zones.guide if side == "guide" else mode.zones.shell
    return {"region": int(painted[nodes[0]])}


def remove(mode: EnrichMode, message: Message) -> None:
    """The vertices of a region belong to none."""
    region = take.integer(message, "region")
    _zone(mode, f"remove region {region}", zones_of(mode.sheet, without(mode.sheet, mode.zones, region), mode.scene))


def cloth(mode: EnrichMode, message: Message) -> None:
    """Another material, or some of its numbers and of what acts on it."""
    dials = mode.dials
    if "material" in message:
        name = take.one_of(message, "material", tuple(materials_of(mode.scene)))
        dials = of_material(dials, name, mode.scene)
        if dials.shape == "own" and not mode.is_staged:
            dials = replace(dials, shape="flat")
    dials = dialled(dials, message)
    if dials.shape != "flat":
        shell_of(mode.sheet, dials, mode.scene)  # folds that the mesh cannot have are refused now, not at the run
    names = sorted(message.keys() - {"v", "do", "id"})

    def work() -> None:
        mode.dials = dials

    mode.do(f"set {', '.join(names) or 'nothing'}", work, join=True)


def _zone(mode: EnrichMode, label: str, made: Zones, *, join: bool = False) -> None:
    def work() -> None:
        mode.zones = made

    mode.do(label, work, join=join)


HANDLERS: dict[str, Callable[[EnrichMode, Message], Mapping[str, Any] | None]] = {
    "shell": shell,
    "regions": regions,
    "paint": paint,
    "region.remove": remove,
    "cloth": cloth,
}
