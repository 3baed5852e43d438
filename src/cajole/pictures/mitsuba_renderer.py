"""The path tracer: Mitsuba 3 in its scalar variant, with Open Image Denoise.

Albedo and normal for the denoiser come from the draft renderer, without noise; from the path tracer they would make a
picture four times slower.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.export_geometry import srgb_to_linear
from cajole.checks import OptionalPackage
from cajole.pictures.draft_renderer import render_denoiser_guides
from cajole.pictures.environment import FILL_RADIANCE, AreaLight, RenderEnvironment, tonemap
from cajole.pictures.render_mesh import RenderMesh

MITSUBA = OptionalPackage(("mitsuba", "mitsuba_oidn"), "mitsuba and mitsuba-oidn", "viz", "a path-traced picture")
ROUGHNESS, GLOSSY_ROUGHNESS, SPECULAR = 0.45, 0.15, 0.35


def render_mitsuba(
    environment: RenderEnvironment, meshes: Sequence[RenderMesh], *, samples: int, seed: int
) -> NDArray[np.uint8]:
    """Render meshes in the studio, both in units of the scene's radius: (height, width, 3).

    The same seed gives the same picture. Raises MissingExtra without Mitsuba or its denoiser.
    """
    with _activate_mitsuba() as mi:
        scene = mi.load_dict(_build_scene_dict(mi, environment, meshes, samples))
        noisy = np.ascontiguousarray(np.array(mi.render(scene, seed=seed)), dtype=np.float32)[..., :3].copy()
    clean = _denoise(noisy, *render_denoiser_guides(environment, meshes))
    return np.rint(255 * tonemap(clean.astype(np.float64))).astype(np.uint8)


@contextlib.contextmanager
def _activate_mitsuba() -> Iterator[Any]:
    """Mitsuba with the scalar variant and without log messages; both settings are restored afterwards."""
    MITSUBA.require()
    import mitsuba as mi

    before = mi.variant()
    mi.set_variant("scalar_rgb")  # the LLVM variants abort the process if the system has another LLVM version
    level = mi.log_level()
    mi.set_log_level(mi.LogLevel.Error)
    try:
        yield mi
    finally:
        mi.set_log_level(level)
        if before is not None:
            mi.set_variant(before)


def _denoise(
    noisy: NDArray[np.float32], albedo: NDArray[np.float32], normal: NDArray[np.float32]
) -> NDArray[np.float32]:
    from mitsuba_oidn import Quality, denoise

    guide = np.ascontiguousarray(np.clip(albedo, 0, 1))
    return np.array(denoise(noisy, guide, np.ascontiguousarray(normal), hdr=True, clean_aux=True, quality=Quality.High))


def _build_scene_dict(
    mi: Any, environment: RenderEnvironment, meshes: Sequence[RenderMesh], samples: int
) -> dict[str, Any]:
    vertices, triangles, normals, colors = environment.build_cyclorama()
    matt = {"type": "twosided", "b": {"type": "diffuse", "reflectance": _reference_vertex_attribute("color")}}
    parts = {
        f"actor{i}": _build_mesh(
            mi, a.vertices, a.triangles, a.normals, srgb_to_linear(a.colors), a.gloss, _build_material(a)
        )
        for i, a in enumerate(meshes)
    }
    return {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 4, "hide_emitters": True},
        "sensor": _build_sensor(mi, environment, samples),
        "room": _build_mesh(mi, vertices, triangles, normals, colors, np.zeros(len(vertices)), matt),
        **{f"light{i}": _build_light(mi, light) for i, light in enumerate(environment.lights)},
        "fill": {"type": "constant", "radiance": _build_rgb(FILL_RADIANCE)},
        **parts,
    }


def _build_sensor(mi: Any, environment: RenderEnvironment, samples: int) -> dict[str, Any]:
    view, position = environment.camera.view, environment.camera.position
    _, up, forward = view.axes
    # a Gaussian filter correlates the noise of neighbouring pixels, which the denoiser takes for detail
    film = {
        "type": "hdrfilm",
        "width": view.size[0],
        "height": view.size[1],
        "rfilter": {"type": "box"},
        "pixel_format": "rgb",
        "component_format": "float32",
    }
    pose = mi.ScalarTransform4f().look_at(
        origin=position.tolist(), target=(position + forward).tolist(), up=up.tolist()
    )
    return {
        "type": "perspective",
        "fov": view.fov,
        "fov_axis": "x",
        "near_clip": 1e-3,
        "far_clip": 1e4,
        "to_world": pose,
        "film": film,
        "sampler": {"type": "independent", "sample_count": samples},
    }


def _build_material(mesh: RenderMesh) -> dict[str, Any]:
    glossy = bool(mesh.gloss.any())
    surface: dict[str, Any] = {
        "type": "principled",
        "base_color": _reference_vertex_attribute("color"),
        "specular": SPECULAR,
        "roughness": ROUGHNESS,
    }
    if glossy:
        surface |= {
            "roughness": _reference_vertex_attribute("roughness"),
            "clearcoat": _reference_vertex_attribute("gloss"),
            "clearcoat_gloss": 0.95,
        }
    both = {"type": "twosided", "b": surface}
    return both if mesh.opacity >= 1 else {"type": "mask", "opacity": mesh.opacity, "b": both}


def _build_mesh(
    mi: Any, vertices: Any, triangles: Any, normals: Any, colors: Any, gloss: Any, material: dict[str, Any]
) -> Any:
    properties = mi.Properties()
    properties["material"] = mi.load_dict(material)
    mesh = mi.Mesh("actor", len(vertices), len(triangles), has_vertex_normals=True, props=properties)
    parameters = mi.traverse(mesh)
    parameters["vertex_positions"] = _flatten(vertices)
    parameters["vertex_normals"] = _flatten(normals)
    parameters["faces"] = np.ascontiguousarray(triangles, dtype=np.uint32).reshape(-1)
    parameters.update()
    mesh.add_attribute("vertex_color", 3, _flatten(colors))
    mesh.add_attribute("vertex_gloss", 1, _flatten(gloss))
    mesh.add_attribute("vertex_roughness", 1, _flatten(ROUGHNESS + gloss * (GLOSSY_ROUGHNESS - ROUGHNESS)))
    return mesh


def _build_light(mi: Any, light: AreaLight) -> dict[str, Any]:
    pose = mi.ScalarTransform4f().look_at(origin=light.centre.tolist(), target=[0, 0, 0], up=light.axes[1].tolist())
    size = mi.ScalarTransform4f().scale([light.half_size, light.half_size, 1.0])
    return {
        "type": "rectangle",
        "to_world": pose @ size,
        "emitter": {"type": "area", "radiance": _build_rgb(light.radiance)},
    }


def _reference_vertex_attribute(name: str) -> dict[str, Any]:
    return {"type": "mesh_attribute", "name": f"vertex_{name}"}


def _build_rgb(color: NDArray[np.float64]) -> dict[str, Any]:
    return {"type": "rgb", "value": [float(c) for c in color]}


def _flatten(values: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
