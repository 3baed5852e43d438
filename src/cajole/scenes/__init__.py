"""Built-in scenes: implicit shapes filled with tets, coloured surfaces, mesh files and vertex selections by text."""

from __future__ import annotations

from cajole.scenes.builtin import Scene, scene, scene_names
from cajole.scenes.scene_body import SceneBody, load_scene_body
from cajole.scenes.sdf import ImplicitShape, LatticeGrading, sample_sdf
from cajole.scenes.selection import select_vertices
from cajole.scenes.shape_builder import ImplicitShapeBuilder, build_leaf_outline
from cajole.scenes.surface_nets import extract_surface
from cajole.scenes.tetrahedralisation import tetrahedralise

__all__ = [
    "ImplicitShape",
    "ImplicitShapeBuilder",
    "LatticeGrading",
    "Scene",
    "SceneBody",
    "build_leaf_outline",
    "extract_surface",
    "load_scene_body",
    "sample_sdf",
    "scene",
    "scene_names",
    "select_vertices",
    "tetrahedralise",
]
