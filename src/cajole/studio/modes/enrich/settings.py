"""The shell and its loads for the settings, and materials to choose."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodyShell, LoadPressure, LoadWind, MaterialShell, Plasticity
from cajole.body.rayleigh import ShellDamping
from cajole.body.undeformed_shapes import build_accordion, build_crinkle, build_ridges
from cajole.dynamics import Ground
from cajole.errors import InputError
from cajole.scenes.enrich_scenes import EnrichScene
from cajole.studio.modes.enrich.messages import EnrichDials
from cajole.studio.modes.enrich.regions import GuidedShellMesh

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class ShellPreset:
    """A material for guides that come without materials; fields as in `EnrichDials`."""

    description: str
    young: float = 2e4
    poisson: float = 0.3
    thickness: float = 2e-3
    density: float = 300.0
    mass: float = 0.5
    membrane: float = 1e-3
    curvature: float = 0.0
    hardening: float = 0.0


PAPER = ShellPreset("sharp folds stay", 1e5, 0.3, 3e-3, 100.0, 1.5, 0.02, 3.0, 0.02)
SHELL_PRESETS = {
    "cloth": ShellPreset("light cotton"),
    "silk": ShellPreset("thin and hardly damped: many small folds", thickness=8e-4, mass=0.05, membrane=5e-4),
    "felt": ShellPreset("thick and soft: wide folds", young=7e4, thickness=5e-3, density=120.0, mass=1.0),
    "paper": PAPER,
    "foil": dataclasses.replace(PAPER, description="all folds stay, and harden", curvature=0.8, hardening=0.1),
    "vinyl": ShellPreset("stiff and much damped", 2.5e5, 0.3, 1.5e-3, 180.0, 1.0, 0.02),
}


def list_materials(scene: EnrichScene | None) -> dict[str, str]:
    """Materials and their descriptions."""
    variants = SHELL_PRESETS if scene is None else scene.variants
    return {name: variant.description for name, variant in variants.items()}


def apply_material(settings: EnrichDials, name: str, scene: EnrichScene | None) -> EnrichDials:
    """The settings with those of a material; loads from outside stay."""
    if scene is None:
        preset = SHELL_PRESETS[name]
        values = dataclasses.asdict(preset)
        del values["description"]
        return replace(settings, material=name, bending=1.0, ripple=preset.membrane, **values)
    variant = scene.variants[name]
    shell, plastic = variant.shell, variant.shell.plasticity
    assert isinstance(shell.material, MaterialShell)
    has_own_shape = not np.array_equal(shell.undeformed, shell.vertices)
    curvature = hardening = 0.0
    if plastic is not None:
        curvature = float(np.mean(np.asarray(plastic.yield_curvature, dtype=np.float64)))
        hardening = float(np.mean(np.asarray(plastic.hardening, dtype=np.float64)))
    return replace(
        settings,
        material=name,
        young=shell.material.young,
        poisson=shell.material.poisson,
        thickness=shell.material.thickness,
        density=shell.material.density,
        mass=shell.damping.mass,
        membrane=shell.damping.membrane,
        ripple=shell.damping.bending,
        curvature=curvature,
        hardening=hardening,
        shape="own" if has_own_shape else "flat",
        own=bool(variant.enrich_options),
        hold=len(shell.fixed) > 0,
    )


def build_initial_settings(shell_mesh: GuidedShellMesh, scene: EnrichScene | None) -> EnrichDials:
    """The scene's settings and first material, else cotton."""
    mesh, guide = shell_mesh.mesh, shell_mesh.guide
    size, ends = mesh.size, mesh.vertices[mesh.edges]
    longest = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).max())
    # folds narrower than two and a half edges would be lost between vertices
    width = max(0.125 * size, 2.5 * longest)
    settings = EnrichDials(
        frames=guide.frames,
        lumps=0.2 * size,
        hold=bool(len(shell_mesh.still_vertices)),
        amplitude=float(f"{0.0125 * size:.2g}"),
        wavelength=float(f"{width * 1.05:.2g}"),
    )
    if scene is None:
        return settings
    options = scene.enrich_options
    # colliders belong to the scene, the ground under it does not
    has_colliders = any(not isinstance(each, Ground) for each in scene.colliders)
    settings = replace(
        settings,
        substeps=max(1, int(np.ceil(guide.dt / float(options.get("dt", 1 / 240)) - 1e-9))),
        gravity=float(options.get("gravity", 0.0)) / EARTH_GRAVITY,
        friction=float(options.get("friction", settings.friction)),
        collisions=options.get("collisions") or ("fast" if has_colliders else "none"),
    )
    return apply_material(settings, next(iter(scene.variants)), scene)


def build_shell(shell_mesh: GuidedShellMesh, settings: EnrichDials, scene: EnrichScene | None) -> BodyShell:
    """The shell of the settings. Raises InputError for folds that the mesh cannot have."""
    return BodyShell(
        shell_mesh.mesh,
        MaterialShell(settings.young, settings.poisson, settings.thickness, settings.density),
        fixed=shell_mesh.still_vertices if settings.hold else None,
        undeformed=_build_rest_shape(shell_mesh, settings, scene),
        damping=ShellDamping(settings.mass, settings.membrane, settings.ripple),
        bending_scale=settings.bending,
        plasticity=Plasticity(settings.curvature, settings.hardening) if settings.curvature > 0 else None,
    )


def _build_rest_shape(shell_mesh: GuidedShellMesh, settings: EnrichDials, scene: EnrichScene | None) -> Array | None:
    """Stress-free shape (n, 3) [m], None for the mesh itself."""
    mesh, depth, width, axis = shell_mesh.mesh, settings.amplitude, settings.wavelength, AXES[settings.along]
    if settings.shape == "accordion":
        return build_accordion(mesh, amplitude=depth, wavelength=width, direction=axis)
    if settings.shape == "ridges":
        return build_ridges(mesh, height=depth, spacing=width, width=width, direction=axis)
    if settings.shape == "crinkle":
        return build_crinkle(mesh, amplitude=depth, scale=width, seed=settings.seed)
    if settings.shape == "flat":
        return None
    if scene is None or settings.material not in scene.variants:
        raise InputError("what is open has no shape of its own; choose flat, accordion, ridges or crinkle")
    shape = np.asarray(scene.variants[settings.material].shell.undeformed)
    if len(shape) != len(mesh.vertices):
        raise InputError("the scene's own shape is that of its own mesh; choose its levels again, or another shape")
    return shape


def build_loads(shell_mesh: GuidedShellMesh, settings: EnrichDials) -> list[Any]:
    """Wind and pressure on the shell."""
    loads: list[Any] = []
    if settings.wind or settings.gusts:
        heading, rise = np.radians([settings.heading, settings.rise])
        direction = np.array([np.cos(rise) * np.cos(heading), np.cos(rise) * np.sin(heading), np.sin(rise)])
        loads.append(LoadWind(
            shell_mesh.mesh, settings.wind * direction, gust_speed=settings.gusts, gust_size=settings.lumps,
            seed=settings.seed,
        ))  # fmt: skip
    if settings.pressure:
        loads.append(LoadPressure(shell_mesh.mesh, settings.pressure))
    return loads
