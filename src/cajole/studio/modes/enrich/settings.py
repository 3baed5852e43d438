"""What a shell is made of and what acts on it in the studio: numbers that sliders set, and what they make."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodyShell, LoadPressure, LoadWind, MaterialShell, Plasticity
from cajole.body.rayleigh import ShellDamping
from cajole.body.undeformed_shapes import build_accordion, build_crinkle, build_ridges
from cajole.dynamics import Ground
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.scenes.enrich_scenes import EnrichScene, ShellVariant
from cajole.studio import message_values
from cajole.studio.modes.base import Message
from cajole.studio.modes.enrich.shell_mesh import GuidedShellMesh

REST_SHAPES = ("flat", "accordion", "ridges", "crinkle", "own")
COLLISION_METHODS = ("none", "fast", "exact")
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# of the gusts' lumps, and of folds and their depth at first, in sizes of the guide
GUST_SCALE_FRACTION, FOLD_WIDTH_FRACTION, FOLD_DEPTH_FRACTION = 0.2, 0.125, 0.0125
# folds must be wider than this many edges, or they would be lost between vertices
MIN_EDGES_PER_FOLD = 2.5


@dataclass(frozen=True)
class EnrichModeSettings:
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
NUMBER_RANGES: dict[str, tuple[float, float]] = {
    "young": (1.0, 1e11), "poisson": (-0.9, 0.5), "thickness": (1e-6, 10.0), "density": (1e-3, 1e5),
    "bending": (0.0, 1e4), "mass": (0.0, 1e3), "membrane": (0.0, 10.0), "ripple": (0.0, 10.0),
    "curvature": (0.0, 1e6), "hardening": (-1e3, 1e3), "amplitude": (0.0, 1e3), "wavelength": (1e-6, 1e4),
    "gravity": (-100.0, 100.0), "wind": (0.0, 200.0), "heading": (-180.0, 180.0), "rise": (-90.0, 90.0),
    "gusts": (0.0, 200.0), "lumps": (1e-4, 1e4), "pressure": (-1e6, 1e6), "friction": (0.0, 10.0),
}  # fmt: skip
INTEGER_RANGES: dict[str, tuple[int, int]] = {"substeps": (1, 200), "frames": (2, 20_000), "seed": (0, 2**31 - 1)}
CHOICES: dict[str, tuple[str, ...]] = {"shape": REST_SHAPES, "along": tuple(AXES), "collisions": COLLISION_METHODS}
FLAG_NAMES = ("own", "hold")

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


def list_materials(scene: EnrichScene | None) -> dict[str, str]:
    """What may be chosen, and in words what it is."""
    if scene is None:
        return {name: text for name, (text, _) in MATERIALS.items()}
    return {name: cloth.description for name, cloth in scene.variants.items()}


def apply_material(settings: EnrichModeSettings, name: str, scene: EnrichScene | None) -> EnrichModeSettings:
    """The dials as a material sets them; what acts from outside stays."""
    if scene is None:
        values: dict[str, Any] = {"curvature": 0.0, "hardening": 0.0, "poisson": 0.3} | MATERIALS[name][1]
        ripple = values.get("membrane", EnrichModeSettings.membrane)
        plain = {key: getattr(EnrichModeSettings, key) for key in ("young", "thickness", "density", "mass", "membrane")}
        return replace(settings, **plain | values, material=name, bending=1.0, ripple=ripple)
    return replace(settings, material=name, **_read_cloth(scene.variants[name]))


def _read_cloth(cloth: ShellVariant) -> dict[str, Any]:
    shell = cloth.shell
    material, damping = shell.material, shell.damping
    assert isinstance(material, MaterialShell)
    plastic = shell.plasticity
    shaped = not np.array_equal(shell.undeformed, shell.vertices)
    return {
        "young": material.young, "poisson": material.poisson, "thickness": material.thickness,
        "density": material.density, "mass": damping.mass, "membrane": damping.membrane, "ripple": damping.bending,
        "curvature": 0.0 if plastic is None else float(np.mean(np.asarray(plastic.yield_curvature, dtype=np.float64))),
        "hardening": 0.0 if plastic is None else float(np.mean(np.asarray(plastic.hardening, dtype=np.float64))),
        "shape": "own" if shaped else "flat", "own": bool(cloth.enrich_options), "hold": len(shell.fixed) > 0,
    }  # fmt: skip


def build_initial_settings(shell_mesh: GuidedShellMesh, scene: EnrichScene | None) -> EnrichModeSettings:
    """What a guide begins with: the scene's first material and settings, or cotton."""
    size, guide = shell_mesh.mesh.size, shell_mesh.guide
    depth, width = _choose_fold_size(shell_mesh.mesh)
    begin = EnrichModeSettings(
        frames=guide.frames,
        lumps=GUST_SCALE_FRACTION * size,
        hold=bool(len(shell_mesh.still_vertices)),
        amplitude=depth,
        wavelength=width,
    )
    if scene is None:
        return begin
    own = scene.enrich_options
    steps = max(1, int(np.ceil(guide.dt / float(own.get("dt", 1 / 240)) - 1e-9)))
    pull = float(own.get("gravity", 0.0)) / EARTH_GRAVITY
    # what stands in the way is part of the story, the ground under it is not
    meets = "fast" if any(not isinstance(each, Ground) for each in scene.colliders) else "none"
    rub = float(own.get("friction", EnrichModeSettings.friction))
    begin = replace(begin, substeps=steps, gravity=pull, friction=rub, collisions=own.get("collisions") or meets)
    return apply_material(begin, next(iter(scene.variants)), scene)


def _choose_fold_size(mesh: MeshTri) -> tuple[float, float]:
    """Depth and width of folds that the mesh can have."""
    ends = mesh.vertices[mesh.edges]
    longest = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).max())
    wide = max(FOLD_WIDTH_FRACTION * mesh.size, MIN_EDGES_PER_FOLD * longest)
    return float(f"{FOLD_DEPTH_FRACTION * mesh.size:.2g}"), float(f"{wide * 1.05:.2g}")


def update_settings(settings: EnrichModeSettings, message: Message) -> EnrichModeSettings:
    """The dials with the values of a message. Raises InputError for what they cannot be."""
    changes: dict[str, Any] = {}
    for field in fields(EnrichModeSettings):
        name = field.name
        if name not in message or name == "material":
            continue
        if name in NUMBER_RANGES:
            changes[name] = message_values.read_number(message, name, *NUMBER_RANGES[name])
        elif name in INTEGER_RANGES:
            changes[name] = message_values.read_integer(message, name, *INTEGER_RANGES[name])
        elif name in CHOICES:
            changes[name] = message_values.read_choice(message, name, CHOICES[name])
        else:
            changes[name] = message_values.read_flag(message, name)
    return replace(settings, **changes)


def build_shell(shell_mesh: GuidedShellMesh, settings: EnrichModeSettings, scene: EnrichScene | None) -> BodyShell:
    """The shell that the dials ask for. Raises InputError for folds that the mesh cannot have."""
    material = MaterialShell(settings.young, settings.poisson, settings.thickness, settings.density)
    plastic = Plasticity(settings.curvature, settings.hardening) if settings.curvature > 0 else None
    return BodyShell(
        shell_mesh.mesh,
        material,
        fixed=shell_mesh.still_vertices if settings.hold else None,
        undeformed=build_rest_shape(shell_mesh, settings, scene),
        damping=ShellDamping(settings.mass, settings.membrane, settings.ripple),
        bending_scale=settings.bending,
        plasticity=plastic,
    )


def build_rest_shape(
    shell_mesh: GuidedShellMesh, settings: EnrichModeSettings, scene: EnrichScene | None
) -> Array | None:
    """The shape free of stress (n, 3) [m], None for the mesh itself."""
    along = AXES[settings.along]
    if settings.shape == "accordion":
        return build_accordion(
            shell_mesh.mesh, amplitude=settings.amplitude, wavelength=settings.wavelength, direction=along
        )
    if settings.shape == "ridges":
        wide = settings.wavelength
        return build_ridges(shell_mesh.mesh, height=settings.amplitude, spacing=wide, width=wide, direction=along)
    if settings.shape == "crinkle":
        return build_crinkle(
            shell_mesh.mesh, amplitude=settings.amplitude, scale=settings.wavelength, seed=settings.seed
        )
    if settings.shape == "own":
        return _get_scene_shape(shell_mesh, settings, scene)
    return None


def _get_scene_shape(shell_mesh: GuidedShellMesh, settings: EnrichModeSettings, scene: EnrichScene | None) -> Array:
    if scene is None or settings.material not in scene.variants:
        raise InputError("what is open has no shape of its own; choose flat, accordion, ridges or crinkle")
    shape = np.asarray(scene.variants[settings.material].shell.undeformed)
    if len(shape) != len(shell_mesh.mesh.vertices):
        raise InputError("the scene's own shape is that of its own mesh; choose its levels again, or another shape")
    return shape


def build_loads(shell_mesh: GuidedShellMesh, settings: EnrichModeSettings) -> list[Any]:
    """The air's forces on the shell."""
    loads: list[Any] = []
    if settings.wind or settings.gusts:
        heading, rise = np.radians([settings.heading, settings.rise])
        way = np.array([np.cos(rise) * np.cos(heading), np.cos(rise) * np.sin(heading), np.sin(rise)])
        loads.append(
            LoadWind(
                shell_mesh.mesh,
                settings.wind * way,
                gust_speed=settings.gusts,
                gust_size=settings.lumps,
                seed=settings.seed,
            )
        )
    if settings.pressure:
        loads.append(LoadPressure(shell_mesh.mesh, settings.pressure))
    return loads
