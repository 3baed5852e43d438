"""What a shell is made of and what acts on it in the studio: numbers that sliders set, and what they make."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodyShell, LoadPressure, LoadWind, MaterialShell, Plasticity
from cajole.body.rayleigh import Damping
from cajole.body.undeformed import accordion, crinkle, ridges
from cajole.dynamics import Ground
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.scenes.enriching import Cloth, EnrichScene
from cajole.studio import take
from cajole.studio.modes.base import Message
from cajole.studio.modes.enrich_sheet import Sheet

SHAPES = ("flat", "accordion", "ridges", "crinkle", "own")
COLLISIONS = ("none", "fast", "exact")
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# of the gusts' lumps, and of folds and their depth at first, in sizes of the guide
LUMPS, FOLDS, DEPTH = 0.2, 0.125, 0.0125
# folds must be wider than this many edges, or they would be lost between vertices
EDGES = 2.5


@dataclass(frozen=True)
class Dials:
    """All that sliders set. young [Pa], thickness [m], density [kg/m³]; bending: how many times as stiff as the sheet.

    mass [1/s], membrane, ripple [s]: damping; curvature [1/m]: folds beyond it stay, 0 for never; hardening [m].
    shape: free of stress, with amplitude and wavelength [m] along an axis; gravity: shares of the Earth's; wind,
    gusts [m/s] with lumps [m], heading, rise [degrees]; pressure [Pa]; own: the scene's own air and shapes in time.
    """

    material: str = "cloth"
    young: float = 2e4
    poisson: float = 0.3
    thickness: float = 2e-3
    density: float = 300.0
    bending: float = 1.0
    mass: float = 0.5
    membrane: float = 1e-3
    ripple: float = 1e-3
    curvature: float = 0.0
    hardening: float = 0.0
    shape: str = "flat"
    amplitude: float = 0.01
    wavelength: float = 0.1
    along: str = "z"
    gravity: float = 1.0
    wind: float = 0.0
    heading: float = 0.0
    rise: float = 0.0
    gusts: float = 0.0
    lumps: float = 0.2
    pressure: float = 0.0
    own: bool = False
    hold: bool = False
    collisions: str = "none"
    friction: float = 0.3
    substeps: int = 8
    frames: int = 1
    seed: int = 0


# what each number may be
RANGES: dict[str, tuple[float, float]] = {
    "young": (1.0, 1e11), "poisson": (-0.9, 0.5), "thickness": (1e-6, 10.0), "density": (1e-3, 1e5),
    "bending": (0.0, 1e4), "mass": (0.0, 1e3), "membrane": (0.0, 10.0), "ripple": (0.0, 10.0),
    "curvature": (0.0, 1e6), "hardening": (-1e3, 1e3), "amplitude": (0.0, 1e3), "wavelength": (1e-6, 1e4),
    "gravity": (-100.0, 100.0), "wind": (0.0, 200.0), "heading": (-180.0, 180.0), "rise": (-90.0, 90.0),
    "gusts": (0.0, 200.0), "lumps": (1e-4, 1e4), "pressure": (-1e6, 1e6), "friction": (0.0, 10.0),
}  # fmt: skip
WHOLE: dict[str, tuple[int, int]] = {"substeps": (1, 200), "frames": (2, 20_000), "seed": (0, 2**31 - 1)}
WORDS: dict[str, tuple[str, ...]] = {"shape": SHAPES, "along": tuple(AXES), "collisions": COLLISIONS}
FLAGS = ("own", "hold")

# what may be chosen for what comes without materials: light things that fold
MATERIALS: dict[str, tuple[str, dict[str, float]]] = {
    "cloth": ("light cotton", {}),
    "silk": ("thin and hardly damped: many small folds", {"thickness": 8e-4, "mass": 0.05, "membrane": 5e-4}),
    "felt": ("thick and soft: wide folds", {"young": 7e4, "thickness": 5e-3, "density": 120.0, "mass": 1.0}),
    "paper": (
        "sharp folds stay",
        {"young": 1e5, "thickness": 3e-3, "density": 100.0, "mass": 1.5, "membrane": 0.02, "curvature": 3.0,
         "hardening": 0.02},
    ),
    "foil": (
        "all folds stay, and harden",
        {"young": 1e5, "thickness": 3e-3, "density": 100.0, "mass": 1.5, "membrane": 0.02, "curvature": 0.8,
         "hardening": 0.1},
    ),
    "vinyl": ("stiff and much damped", {"young": 2.5e5, "thickness": 1.5e-3, "density": 180.0, "mass": 1.0,
                                        "membrane": 0.02}),
}  # fmt: skip


def materials_of(scene: EnrichScene | None) -> dict[str, str]:
    """What may be chosen, and in words what it is."""
    if scene is None:
        return {name: text for name, (text, _) in MATERIALS.items()}
    return {name: cloth.description for name, cloth in scene.materials.items()}


def of_material(dials: Dials, name: str, scene: EnrichScene | None) -> Dials:
    """The dials as a material sets them; what acts from outside stays."""
    if scene is None:
        values: dict[str, Any] = {"curvature": 0.0, "hardening": 0.0, "poisson": 0.3} | MATERIALS[name][1]
        ripple = values.get("membrane", Dials.membrane)
        plain = {key: getattr(Dials, key) for key in ("young", "thickness", "density", "mass", "membrane")}
        return replace(dials, **plain | values, material=name, bending=1.0, ripple=ripple)
    return replace(dials, material=name, **_of_cloth(scene.materials[name]))


def _of_cloth(cloth: Cloth) -> dict[str, Any]:
    shell = cloth.shell
    material, damping = shell.material, shell.damping
    assert isinstance(material, MaterialShell)
    plastic = shell.plasticity
    shaped = not np.array_equal(shell.undeformed, shell.vertices)
    return {
        "young": material.young, "poisson": material.poisson, "thickness": material.thickness,
        "density": material.density, "mass": damping.mass, "membrane": damping.membrane, "ripple": damping.bending,
        "curvature": 0.0 if plastic is None else float(np.mean(np.asarray(plastic.most_curvature, dtype=np.float64))),
        "hardening": 0.0 if plastic is None else float(np.mean(np.asarray(plastic.hardening, dtype=np.float64))),
        "shape": "own" if shaped else "flat", "own": bool(cloth.settings), "hold": len(shell.fixed) > 0,
    }  # fmt: skip


def first_dials(sheet: Sheet, scene: EnrichScene | None) -> Dials:
    """What a guide begins with: the scene's first material and settings, or cotton."""
    size, guide = sheet.mesh.size, sheet.guide
    depth, width = _folds(sheet.mesh)
    begin = Dials(
        frames=guide.frames, lumps=LUMPS * size, hold=bool(len(sheet.still)), amplitude=depth, wavelength=width
    )
    if scene is None:
        return begin
    own = scene.settings
    steps = max(1, int(np.ceil(guide.dt / float(own.get("dt", 1 / 240)) - 1e-9)))
    pull = float(own.get("gravity", 0.0)) / EARTH_GRAVITY
    # what stands in the way is part of the story, the ground under it is not
    meets = "fast" if any(not isinstance(each, Ground) for each in scene.colliders) else "none"
    rub = float(own.get("friction", Dials.friction))
    begin = replace(begin, substeps=steps, gravity=pull, friction=rub, collisions=own.get("collisions") or meets)
    return of_material(begin, next(iter(scene.materials)), scene)


def _folds(mesh: MeshTri) -> tuple[float, float]:
    """Depth and width of folds that the mesh can have."""
    ends = mesh.vertices[mesh.edges]
    longest = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).max())
    wide = max(FOLDS * mesh.size, EDGES * longest)
    return float(f"{DEPTH * mesh.size:.2g}"), float(f"{wide * 1.05:.2g}")


def dialled(dials: Dials, message: Message) -> Dials:
    """The dials with the values of a message. Raises InputError for what they cannot be."""
    changes: dict[str, Any] = {}
    for field in fields(Dials):
        name = field.name
        if name not in message or name == "material":
            continue
        if name in RANGES:
            changes[name] = take.number(message, name, *RANGES[name])
        elif name in WHOLE:
            changes[name] = take.integer(message, name, *WHOLE[name])
        elif name in WORDS:
            changes[name] = take.one_of(message, name, WORDS[name])
        else:
            changes[name] = take.flag(message, name)
    return replace(dials, **changes)


def shell_of(sheet: Sheet, dials: Dials, scene: EnrichScene | None) -> BodyShell:
    """The shell that the dials ask for. Raises InputError for folds that the mesh cannot have."""
    material = MaterialShell(dials.young, dials.poisson, dials.thickness, dials.density)
    plastic = Plasticity(dials.curvature, dials.hardening) if dials.curvature > 0 else None
    return BodyShell(
        sheet.mesh, material, fixed=sheet.still if dials.hold else None, undeformed=shape_of(sheet, dials, scene),
        damping=Damping(dials.mass, dials.membrane, dials.ripple), bending=dials.bending, plasticity=plastic,
    )  # fmt: skip


def shape_of(sheet: Sheet, dials: Dials, scene: EnrichScene | None) -> Array | None:
    """The shape free of stress (n, 3) [m], None for the mesh itself."""
    along = AXES[dials.along]
    if dials.shape == "accordion":
        return accordion(sheet.mesh, amplitude=dials.amplitude, wavelength=dials.wavelength, direction=along)
    if dials.shape == "ridges":
        wide = dials.wavelength
        return ridges(sheet.mesh, height=dials.amplitude, spacing=wide, width=wide, direction=along)
    if dials.shape == "crinkle":
        return crinkle(sheet.mesh, amplitude=dials.amplitude, scale=dials.wavelength, seed=dials.seed)
    if dials.shape == "own":
        return _own_shape(sheet, dials, scene)
    return None


def _own_shape(sheet: Sheet, dials: Dials, scene: EnrichScene | None) -> Array:
    if scene is None or dials.material not in scene.materials:
        raise InputError("what is open has no shape of its own; choose flat, accordion, ridges or crinkle")
    shape = np.asarray(scene.materials[dials.material].shell.undeformed)
    if len(shape) != len(sheet.mesh.vertices):
        raise InputError("the scene's own shape is that of its own mesh; choose its levels again, or another shape")
    return shape


def loads_of(sheet: Sheet, dials: Dials) -> list[Any]:
    """The air's forces on the shell."""
    loads: list[Any] = []
    if dials.wind or dials.gusts:
        heading, rise = np.radians([dials.heading, dials.rise])
        way = np.array([np.cos(rise) * np.cos(heading), np.cos(rise) * np.sin(heading), np.sin(rise)])
        loads.append(LoadWind(sheet.mesh, dials.wind * way, gusts=dials.gusts, scale=dials.lumps, seed=dials.seed))
    if dials.pressure:
        loads.append(LoadPressure(sheet.mesh, dials.pressure))
    return loads
