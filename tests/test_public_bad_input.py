"""Absurd arguments to every public function and method: whatever comes out, it is a result or a CajoleError."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cajole as cj
from cajole.errors import CajoleError
from cajole.mesh import box_tets

# what no argument should be, and what some arguments may be
ABSURD: dict[str, Any] = {
    "10**12": 10**12,
    "10**30": 10**30,
    "10**5000": 10**5000,
    "-10**30": -(10**30),
    "-1": -1,
    "0": 0,
    "nan": float("nan"),
    "inf": float("inf"),
    "1e300": 1e300,
    "1e308": 1e308,
    "1e-300": 1e-300,
    "5e-324": 5e-324,
    "complex": 1j,
    "text": "text",
    "NUL": "a\0b.npz",
    "bytes": b"bytes",
    "None": None,
    "True": True,
    "object": object(),
    "type": int,
    "ragged": [[1.0], [2.0, 3.0]],
    "ragged deep": [[[1.0, 2.0, 3.0]], [1.0]],
    "empty": [],
    "empty array": np.empty((0, 3)),
    "scalar array": np.array(1.0),
    "wrong shape": np.zeros((2, 2)),
    "wrong depth": np.zeros((1, 1, 1, 1)),
    "words": ["a", "b", "c"],
    "huge numbers": [10**30, 10**30, 10**30],
    "huge array": np.full((5, 3), 1e300),
    "nan array": np.full((5, 3), np.nan),
    "objects": np.array([None, {}, "a"], dtype=object),
    "mapping": {0: [1.0]},
    "absurd mapping": {"a": None, -1: "b"},
    "generator": (k for k in ()),
}
# for calls that take long where an absurd value happens to be a valid one
FEW = ("10**12", "10**30", "nan", "1e300", "text", "ragged", "wrong shape", "object")
# made by functions that check, not by hand; scene_names takes nothing
MADE_BY_OTHERS = {
    "Controller", "Editor", "EnrichResult", "FlowController", "FlowShot", "Live", "Modes", "ReducedFlow", "Reference",
    "Regions", "SampledBasis", "scene_names",
}  # fmt: skip
PARTS = 8


@dataclass(frozen=True)
class Case:
    """A call that works. few: only some values are tried."""

    call: Callable[..., Any]
    valid: dict[str, Any] = field(default_factory=dict)
    # pairs of an argument and a value that would only take long, being work and not memory, or that is called
    slow: tuple[tuple[str, str], ...] = ()
    few: bool = False


@cache
def mesh() -> cj.MeshTet:
    return box_tets(2, 1, 1, size=(0.4, 0.1, 0.1))


@cache
def sheet() -> cj.MeshTri:
    x, y = np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 4))
    corners = np.array([[i + 4 * j, i + 1 + 4 * j, i + 4 * j + 4] for j in range(3) for i in range(3)])
    others = np.array([[i + 1 + 4 * j, i + 5 + 4 * j, i + 4 * j + 4] for j in range(3) for i in range(3)])
    vertices = np.stack([x.ravel(), y.ravel(), 0.02 * np.sin(5 * x.ravel())], axis=1)
    return cj.MeshTri(vertices, np.concatenate([corners, others]))


@cache
def solid() -> cj.BodySolid:
    return cj.BodySolid(mesh(), fixed=[0, 1, 2, 3], damping=(0.1, 1e-3))


@cache
def shell() -> cj.BodyShell:
    return cj.BodyShell(sheet(), fixed=[0, 3])


@cache
def net() -> cj.BodySprings:
    return cj.BodySprings.cloth(4, 4, fixed=[0, 3])


@cache
def motion() -> cj.Animation:
    return cj.simulate(solid(), 5, gravity=1.0)


@cache
def cloth_motion() -> cj.Animation:
    positions = np.stack([sheet().vertices + [0, 0, 0.01 * k] for k in range(3)])
    return cj.Animation(sheet(), positions)


@cache
def pilot() -> cj.Animation:
    return cj.simulate(net(), 6, gravity=9.81, integrator="euler")


@cache
def controller() -> cj.Controller:
    return cj.steer(cj.build_reference(solid(), motion(), modes=3))


@cache
def editor() -> cj.Editor:
    return cj.edit(motion(), solid(), 6)


@cache
def flow() -> cj.Flow:
    return cj.Flow(8, 6)


@cache
def flow_motion() -> cj.FlowMotion:
    return flow().simulate(6, 0.1, force=cj.Gust((3, 3), (1, 0), 2.0))


@cache
def flow_model() -> cj.ReducedFlow:
    return cj.reduce(flow(), [flow_motion()], size=3)


@cache
def flow_controller() -> cj.FlowController:
    return cj.steer(flow_model().shot(flow_motion(), particles=[[4.0, 3.0]]))


@cache
def skin() -> cj.Skin:
    return cj.Skin(mesh().surface.compacted()[0], embedding=cj.embed(mesh().surface.compacted()[0], mesh()))


def referred(substeps: int) -> cj.Reference:
    return cj.build_reference(solid(), motion(), modes=3, substeps=substeps)


def enriched(frames: int, *, newton: int = 1) -> cj.EnrichResult:
    return cj.enrich(cloth_motion(), cj.BodyShell(regions().fine_mesh), regions(), frames=frames, newton=newton)


def keyed(**options: Any) -> Any:
    return cj.keyframe(solid(), {3: np.zeros((12, 3))}, 4, **options)


def posed() -> cj.PoseSession:
    session = cj.PoseSession(solid())
    session.add(6, (0.0, 0.0, 0.01))
    session.pin(5)
    return session


@cache
def regions() -> cj.Regions:
    return cj.regions_subdivided(sheet(), 1)[1]


def cases() -> dict[str, Case]:
    """Every public function, constructor and method that takes arguments of the caller, with arguments that work."""
    n = len(mesh().vertices)
    rest, still, slack = np.zeros((n, 3)), np.zeros((16, 3)), np.zeros((25, 3))
    body = solid()
    state = np.zeros(flow().face_count)
    found: dict[str, Case] = {
        "Animation": Case(
            cj.Animation,
            {
                "mesh": mesh(),
                "positions": mesh().vertices[None],
                "fps": 24.0,
                "velocities": None,
                "contacts": None,
                "skin": None,
                "start_frame": 0,
                "name": "a",
                "notes": (),
            },
        ),
        "Animation.frame": Case(motion().frame, {"frame": 1}),
        "Animation.moved": Case(motion().moved, {"positions": motion().positions}),
        "Animation.resampled": Case(motion().resampled, {"fps": 30.0}),
        "Animation.trimmed": Case(motion().trimmed, {"start": 0, "stop": 3}),
        "Animation.write": Case(motion().write, {"path": "a.npz", "single": False}),
        "EmbeddedMesh": Case(cj.EmbeddedMesh, {"mesh": mesh().surface, "body": body, "embedding": skin().embedding}),
        "BodyShell": Case(
            cj.BodyShell,
            {
                "mesh": sheet(),
                "material": cj.MaterialShell(),
                "fixed": [0],
                "damping": (0.0, 0.0),
                "undeformed": None,
                "bending_scale": 1.0,
                "plasticity": None,
            },
        ),
        "BodyShell.with_undeformed_shape": Case(shell().with_undeformed_shape, {"undeformed": sheet().vertices}),
        "BodyShell.yielded": Case(shell().yielded, {"displacement": still}),
        "BodySolid": Case(
            cj.BodySolid, {"mesh": mesh(), "material": cj.MaterialStVK(), "fixed": [0], "damping": (0.0, 0.0)}
        ),
        "BodySprings": Case(
            cj.BodySprings,
            {
                "vertices": net().vertices,
                "edges": net().edges,
                "stiffness": 100.0,
                "mass": 1.0,
                "fixed": [0],
                "damping": 0.0,
                "rest_lengths": None,
                "clamp": 0.0,
                "mesh": None,
            },
        ),
        "BodySprings.cloth": Case(
            cj.BodySprings.cloth, {"nx": 3, "ny": 3, "size": (1.0, 1.0), "stiffness": (500.0, 200.0, 20.0, 10.0)}
        ),
        "BodySprings.from_mesh": Case(cj.BodySprings.from_mesh, {"mesh": sheet(), "stiffness": 100.0}),
        "BodySprings.with_rest_lengths": Case(net().with_rest_lengths, {"rest_lengths": np.ones(len(net().edges))}),
        "Contacts": Case(
            cj.Contacts,
            {"frame": [0], "vertex": [0], "normal": [[0.0, 0.0, 1.0]], "kind": ["sliding"], "other": [-1]},
        ),
        "Controller.retuned": Case(controller().retuned, {"tracking": 1.0, "final": 0.0, "effort": 0.1}),
        "Controller.run": Case(controller().run, {"force": None, "controlled": True, "loops": 1}),
        "Controller.save": Case(controller().save, {"path": "controller.npz", "skin": None}),
        "Controller.start": Case(controller().start, {"controlled": True}),
        "Editor.drag": Case(editor().drag, {"vertex": 5, "frame": 2, "position": [0.4, 0.0, 0.1], "directions": None}),
        "Editor.pin": Case(editor().pin, {"vertex": 5, "frame": 2, "directions": None}),
        "Editor.tie": Case(
            editor().tie, {"vertex": 5, "other": 6, "frame": 2, "offset": [0.0, 0.0, 0.1], "directions": None}
        ),
        "Editor.grab": Case(
            lambda **k: editor().grab(**k).__exit__(None, None, None),
            {"vertex": 5, "frame": 2, "directions": None, "other": None},
        ),
        "Editor.positions": Case(editor().positions, {"frame": 2}),
        "Editor.compute_temporal_influence": Case(editor().compute_temporal_influence, {"vertex": 5, "frame": 2}),
        "Editor.release": Case(editor().release, {"vertex": 5, "frame": 2, "other": None}),
        "Editor.tune": Case(
            editor().tune,
            {"ends": "fixed", "h": 0.02, "damping": (0.0, 0.0), "energy": "forces", "smoothness": 1.0, "window": None},
        ),
        "Embedding": Case(
            cj.Embedding, {"tets": [0], "weights": [[0.25] * 4], "corners": [[0, 1, 2, 3]], "vertex_count": 4}
        ),
        "Embedding.apply": Case(skin().embedding.apply, {"positions": mesh().vertices}),
        "Flow": Case(cj.Flow, {"columns": 8, "rows": 8, "cell_size": 1.0, "viscosity": 0.0}),
        "Flow.simulate": Case(flow().simulate, {"frames": 3, "dt": 0.1, "force": None, "start": state}),
        "Flow.compute_divergence": Case(flow().compute_divergence, {"state": state}),
        "Flow.project_divergence_free": Case(flow().project_divergence_free, {"state": state}),
        "Flow.energy": Case(flow().energy, {"state": state}),
        "Flow.interpolate_velocity": Case(flow().interpolate_velocity, {"state": state, "points": [[1.0, 1.0]]}),
        "Flow.check_points": Case(flow().check_points, {"value": [[1.0, 1.0]]}),
        "FlowController.retuned": Case(
            flow_controller().retuned, {"tracking": 1.0, "final": 0.0, "effort": 0.1, "frames": None}
        ),
        "FlowController.run": Case(flow_controller().run, {"force": None, "controlled": True}),
        "FlowController.save": Case(flow_controller().save, {"path": "flow.npz"}),
        "FlowController.start": Case(
            flow_controller().start, {"controlled": True, "passive_particles": np.empty((0, 2))}
        ),
        "FlowMotion": Case(cj.FlowMotion, {"flow": flow(), "dt": 0.1, "states": np.zeros((3, flow().face_count))}),
        "FlowMotion.advect": Case(flow_motion().advect, {"points": [[4.0, 3.0]]}),
        "FlowMotion.advect_smoke": Case(flow_motion().advect_smoke, {"start": np.zeros((8, 6)), "every": 1}),
        "Goal": Case(cj.Goal, {"vertex": 5, "frame": 2, "position": [0.0, 0.0, 0.1], "window": None}),
        "Ground": Case(
            cj.Ground,
            {"height": 0.0, "friction": 0.5, "damping": 0.5, "stiffness": None, "margin": 0.0, "plane": None},
        ),
        "Gust": Case(
            cj.Gust,
            {"position": (3.0, 3.0), "acceleration": (1.0, 0.0), "radius": 2.0, "time": 0.0, "duration": 0.0},
        ),
        "GustNoise": Case(cj.GustNoise, {"strength": 0.1, "scale": 2.0, "pace": 1.0, "seed": 0}),
        "Key": Case(cj.Key, {"displacement": rest, "vertices": [4], "weight": 1.0, "hard": False}),
        "RealtimeController.push": Case(
            controller().start().push, {"location": 5, "force": (0.0, 0.0, 0.1), "duration": 0.1}
        ),
        "RealtimeController.set_sustained_force": Case(
            controller().start().set_sustained_force, {"location": 5, "force": (0.0, 0.0, 0.1)}
        ),
        "RealtimeController.seek": Case(controller().start().seek, {"frame": 1}),
        "RealtimeController.set_disturbances": Case(
            lambda wind: controller().start().set_disturbances(wind), {"wind": cj.Wind(0.1)}
        ),
        "RealtimeController.compute_positions": Case(controller().start().compute_positions, {"skin": None}),
        "RealtimeController.step": Case(controller().start().step, {"count": 1}),
        "MaterialShell": Case(cj.MaterialShell, {"young": 1e6, "poisson": 0.3, "thickness": 1e-3, "density": 1e3}),
        "MaterialStVK": Case(cj.MaterialStVK, {"young": 1e6, "poisson": 0.3, "density": 1e3}),
        "MeshLine": Case(cj.MeshLine, {"vertices": np.eye(3), "lines": [[0, 1], [1, 2]]}),
        "MeshLine.moved": Case(cj.MeshLine(np.eye(3), [[0, 1], [1, 2]]).moved, {"vertices": 2 * np.eye(3)}),
        "MeshTet": Case(cj.MeshTet, {"vertices": mesh().vertices, "tets": mesh().tets}),
        "MeshTet.moved": Case(mesh().moved, {"vertices": mesh().vertices}),
        "MeshTet.nearest": Case(mesh().nearest, {"point": [0.0, 0.0, 0.0]}),
        "MeshTri": Case(cj.MeshTri, {"vertices": sheet().vertices, "triangles": sheet().triangles}),
        "MeshTri.moved": Case(sheet().moved, {"vertices": sheet().vertices}),
        "MeshTri.nearest": Case(sheet().nearest, {"point": [0.0, 0.0, 0.0]}),
        "Modes.shape": Case(cj.modes(body, 3).shape, {"index": 0}),
        "ObstacleMesh": Case(
            cj.ObstacleMesh,
            {"mesh": mesh(), "friction": 0.5, "damping": 0.5, "stiffness": None, "margin": 0.0},
        ),
        "PoseSession": Case(cj.PoseSession, {"body": body, "gravity": None}),
        "PoseSession.add": Case(lambda **k: cj.PoseSession(body).add(**k), {"vertices": 5, "force": (0.0, 0.0, 0.01)}),
        "PoseSession.pin": Case(lambda **k: cj.PoseSession(body).pin(**k), {"vertices": 5, "position": None}),
        "PoseSession.set_gravity": Case(lambda **k: cj.PoseSession(body).set_gravity(**k), {"gravity": 0.1}),
        "PoseSession.set_pose": Case(lambda **k: cj.PoseSession(body).set_pose(**k), {"displacement": rest}),
        "PoseSession.compute_compliance": Case(
            lambda **k: cj.PoseSession(body).compute_compliance(**k), {"vertices": 5}
        ),
        "PoseSession.unpin": Case(lambda **k: posed().unpin(**k), {"vertices": 5}),
        "PoseSession.remove": Case(lambda **k: posed().remove(**k), {"load": 0}),
        "PoseSession.mute": Case(lambda **k: posed().mute(**k), {"load": 0, "muted": True}),
        "PoseSession.change": Case(lambda **k: posed().change(**k), {"load": 0, "force": (0.0, 0.0, 0.1)}),
        "PoseSession.grab": Case(lambda **k: cj.PoseSession(body).grab(**k), {"vertices": 5, "replace_loads": False}),
        "Push": Case(
            lambda **k: controller().run(cj.Push(**k)),
            {"vertex": 5, "force": (0.0, 0.0, 0.1), "time": 0.0, "duration": 0.1},
        ),
        "ReducedFlow.energy": Case(flow_model().energy, {"state": np.zeros(3)}),
        "ReducedFlow.lift": Case(flow_model().lift, {"state": np.zeros(3)}),
        "ReducedFlow.project": Case(flow_model().project, {"velocity": state}),
        "ReducedFlow.compute_rate_matrix": Case(flow_model().compute_rate_matrix, {"state": np.zeros(3)}),
        "ReducedFlow.check_particles": Case(flow_model().check_particles, {"particles": [[4.0, 3.0]]}),
        "ReducedFlow.rollout": Case(
            flow_model().rollout,
            {"controls": np.zeros((3, 3)), "dt": 0.1, "state": np.zeros(3), "particles": [[4.0, 3.0]]},
        ),
        "ReducedFlow.shot": Case(
            flow_model().shot,
            {"motion": flow_motion(), "particles": [[4.0, 3.0]], "resimulate": False, "feed_forward": "given"},
        ),
        "Regions.distances": Case(
            regions().compute_distances,
            {"guide_positions": sheet().vertices, "positions": regions().fine_mesh.vertices},
        ),
        "Regions.joined": Case(regions().joined, {"other": regions(), "dependent": "drop"}),
        "Regions.without": Case(regions().without, {"names": "0"}),
        "Segment": Case(cj.Segment, {"keys": {3: rest}, "frames": 4, "fixed": None}),
        "Skin": Case(
            cj.Skin,
            {
                "mesh": sheet(),
                "colors": np.zeros((16, 3)),
                "parts": ("a",),
                "labels": np.zeros(16, int),
                "gloss": np.zeros(16),
                "embedding": None,
            },
        ),
        "Skin.deform": Case(skin().deform, {"cage_positions": mesh().vertices}),
        "Skin.find_part_vertices": Case(skin().find_part_vertices, {"name": "surface"}),
        "InitialState": Case(
            lambda **k: cj.simulate(body, 2, start=cj.InitialState(**k)),
            {"displacement": rest, "velocity": rest, "acceleration": rest},
        ),
        "Wind": Case(
            lambda **k: controller().run(cj.Wind(**k)),
            {"strength": 0.1, "scale": 0.5, "pace": 1.0, "seed": 0, "direction": (1.0, 0.0, 0.0), "patches": 4},
        ),
        "embed_in_solid": Case(
            cj.embed_in_solid,
            {"mesh": mesh().surface, "material": None, "resolution": 4, "fixed": None, "damping": (0.0, 0.0)},
        ),
        "edit": Case(
            cj.edit,
            {
                "animation": motion(),
                "body": body,
                "modes": 4,
                "ends": "fixed",
                "h": None,
                "damping": None,
                "energy": "forces",
                "smoothness": 1.0,
                "window": None,
                "region": None,
                "warp": "composition",
                "contacts": None,
                "cluster": 500,
                "fixed": None,
            },
            few=True,
        ),
        "embed": Case(cj.embed, {"points": [[0.0, 0.0, 0.0]], "mesh": mesh()}),
        "enrich": Case(
            cj.enrich,
            {
                "guide": cloth_motion(),
                "cloth": cj.BodyShell(regions().fine_mesh),
                "regions": regions(),
                "dt": 0.02,
                "collisions": None,
                "colliders": (),
                "friction": None,
                "distance": None,
                "newton": 1,
                "gravity": None,
                "forces": (),
                "undeformed": None,
                "start": None,
                "frames": None,
                "tracked": True,
            },
            slow=(("dt", "1e-300"), ("collisions", "type"), ("forces", "type")),
            few=True,
        ),
        "find_contacts": Case(
            cj.find_contacts,
            {"animation": motion(), "against": ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), "distance": 0.1, "kind": "sliding"},
        ),
        "fit_pose": Case(
            cj.fit_pose,
            {
                "body": body,
                "skin": skin(),
                "deformed": skin().mesh.vertices,
                "weight": 1e-4,
                "areas": None,
                "start": None,
            },
        ),
        "fit_poses": Case(
            cj.fit_poses, {"body": body, "skin": skin(), "sequence": [skin().mesh.vertices], "weight": 1e-4}
        ),
        "keyframe": Case(
            cj.keyframe,
            {
                "body": body,
                "keys": {3: 0.01 * mesh().vertices * (mesh().vertices[:, :1] > 0)},
                "frames": 4,
                "dt": 0.05,
                "effort": 1e-4,
                "modes": 2,
                "start": None,
                "loop": False,
                "timing": "fixed",
                "basis": None,
                "tangents": False,
                "cubature": False,
                "optimiser": "newton",
                "starts": "best",
                "tolerance": 1e-8,
                "iterations": 200,
                "rank": 1e-2,
                "watch": None,
            },
            few=True,
        ),
        "keyframe_sequence": Case(
            cj.keyframe_sequence,
            {
                "mesh": mesh(),
                "material": cj.MaterialStVK(),
                "segments": [cj.Segment({3: 0.01 * mesh().vertices * (mesh().vertices[:, :1] > 0)}, 4, [0, 1, 2, 3])],
                "damping": (0.1, 1e-3),
                "start": None,
                "dt": 0.05,
                "effort": 1e-4,
                "modes": 2,
            },
            few=True,
        ),
        "load_edit": Case(
            cj.load_edit, {"path": "edit.json", "animation": motion(), "body": body, "contacts": None, "fixed": None}
        ),
        "load_controller": Case(cj.load_controller, {"path": "controller.npz"}),
        "load_flow_controller": Case(cj.load_flow_controller, {"path": "flow.npz"}),
        "load_model": Case(cj.load_model, {"path": "model.npz", "body": body}),
        "modes": Case(cj.modes, {"body": body, "count": 3, "rigid": False, "cache": False, "backend": None}),
        "picture": Case(
            cj.picture,
            {
                "subject": motion(),
                "path": None,
                "frame": 0,
                "frames": None,
                "positions": None,
                "in_view": None,
                "size": (8, 8),
                "samples": 1,
                "azimuth": None,
                "elevation": None,
                "fov": None,
                "background": None,
                "floor": None,
                "floor_height": None,
                "colors": None,
                "role": None,
                "ghost": None,
                "compare": None,
                "marks": None,
                "mark_size": None,
                "arrows": None,
                "props": None,
                "smooth": None,
                "wireframe": False,
                "renderer": "draft",
                "seed": 0,
            },
            few=True,
        ),
        "pose": Case(cj.pose, {"body": body, "loads": None, "pins": None, "start": rest, "gravity": 0.1}),
        "read_animation": Case(cj.read_animation, {"path": "motion.npz", "mesh": None, "fps": None, "mmap": None}),
        "read_body": Case(
            cj.read_body, {"path": "body.veg", "fixed": None, "damping": (0.0, 0.0), "scale": 1.0, "up": "z"}
        ),
        "read_mesh": Case(cj.read_mesh, {"path": "body.veg", "scale": 1.0, "up": "z"}),
        "reduce": Case(cj.reduce, {"body": body, "basis": 3, "cubature": False, "poses": None, "size": None}),
        "reduce springs": Case(
            cj.reduce, {"body": net(), "basis": 3, "cubature": True, "poses": 0.01 * np.ones((2, 25, 3))}
        ),
        "reduce flow": Case(cj.reduce, {"body": flow(), "basis": [flow_motion()], "size": 3}),
        "build_reference": Case(
            cj.build_reference,
            {
                "model": body,
                "motion": motion(),
                "modes": 3,
                "components": None,
                "force": None,
                "feed_forward": "inverse",
                "resimulate": False,
                "loop": False,
                "substeps": None,
            },
        ),
        "regions_clustered": Case(
            cj.regions_clustered,
            {"guide": cloth_motion(), "count": 3, "mu": 0.5, "frames": 2, "seed": 0, "relative_density": None},
        ),
        "regions_interpolating": Case(
            cj.regions_interpolating,
            {"guide_mesh": sheet(), "fine_mesh": sheet(), "guide_vertices": [0, 1, 2], "fine_vertices": [0, 1, 2]},
        ),
        "regions_painted": Case(
            cj.regions_painted,
            {
                "guide_mesh": sheet(),
                "guide_labels": [0] * 16,
                "fine_mesh": sheet(),
                "fine_labels": [0] * 16,
                "guide_labels_on": "vertices",
                "fine_labels_on": "vertices",
            },
        ),
        "regions_subdivided": Case(cj.regions_subdivided, {"coarse": sheet(), "levels": 1}),
        "reroute": Case(
            cj.reroute,
            {
                "net": net(),
                "pilot": pilot(),
                "goals": cj.Goal(9, 4, pilot().positions[4, 9] + 0.01),
                "method": "pattern",
                "within": 0.01,
                "limit": None,
                "reach": None,
                "alpha": 150.0,
                "cone_search": None,
                "rest_lengths": None,
                "capsules": None,
                "compare": False,
            },
            few=True,
        ),
        "sample_basis": Case(
            cj.sample_basis,
            {
                "body": body,
                "motion": motion(),
                "force": None,
                "runs": 2,
                "size": 2,
                "energy": None,
                "kind": "impulses",
                "vertices": None,
                "strength": (0.05, 0.2),
                "duration": None,
                "horizon": None,
                "every": None,
                "gravity": 1.0,
                "integrator": "newmark",
                "substeps": 1,
                "seed": 0,
                "cluster": None,
            },
            few=True,
        ),
        "sample_flow": Case(
            cj.sample_flow,
            {
                "motion": flow_motion(),
                "runs": 2,
                "particles": [[4.0, 3.0]],
                "strength": (0.05, 0.2),
                "radius": (0.1, 0.2),
                "every": None,
                "seed": 0,
                "cluster": None,
            },
            few=True,
        ),
        "save_edit": Case(cj.save_edit, {"editor": editor(), "path": "edit.json"}),
        "scene": Case(cj.scene, {"name": "beam", "tets": 200, "skin": "normal"}),
        "simulate": Case(
            cj.simulate,
            {
                "body": body,
                "frames": 3,
                "dt": 0.02,
                "force": None,
                "gravity": 1.0,
                "start": None,
                "obstacles": None,
                "surface": None,
                "integrator": "newmark",
                "substeps": 1,
            },
        ),
        "steer": Case(
            cj.steer,
            {
                "motion": controller().reference,
                "body": None,
                "tracking": 1.0,
                "final": 0.0,
                "effort": 0.01,
                "frames": None,
                "vertices": None,
                "velocity_tracking": None,
                "formulation": "discrete",
            },
        ),
        "strip": Case(cj.strip, {"animation": motion(), "path": None, "frames": 2, "size": (8, 8), "onion": False}),
        "subdivide": Case(cj.subdivide, {"mesh": sheet(), "levels": 1}),
        "voxelise": Case(cj.voxelise, {"mesh": mesh().surface, "resolution": 4, "keep": "all"}),
        "write_mesh": Case(cj.write_mesh, {"mesh": mesh(), "path": "out.veg"}),
    }
    for kind, one, shape in (("solid", body, rest), ("shell", shell(), still), ("springs", net(), slack)):
        for name in ("energy", "force", "stiffness", "damping_matrix", "inverted", "check_vertex_vectors"):
            found[f"{kind}.{name}"] = Case(getattr(one, name), {"displacement": shape})
        for name in ("damping_force", "damping_force_jacobian"):
            found[f"{kind}.{name}"] = Case(getattr(one, name), {"displacement": shape, "velocity": shape})
        found[f"{kind}.stiffness_derivative"] = Case(
            one.stiffness_derivative, {"displacement": shape, "direction": shape}
        )
        found[f"{kind}.gravity"] = Case(one.gravity, {"acceleration": 9.81})
        found[f"{kind}.with_fixed_vertices"] = Case(one.with_fixed_vertices, {"fixed": [0]})
        found[f"{kind}.distribute_force"] = Case(one.distribute_force, {"vertices": [4], "force": [0.0, 0.0, 1.0]})
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind."""
    folder = tmp_path_factory.mktemp("files")
    motion().write(folder / "motion.npz")
    cj.write_mesh(mesh(), folder / "body.veg")
    controller().save(folder / "controller.npz")
    flow_controller().save(folder / "flow.npz")
    cj.reduce(solid(), 3).save(folder / "model.npz")
    cj.save_edit(editor(), folder / "edit.json")
    return folder


def absurd_calls(case: Case) -> list[str]:
    """What came of every call with one absurd argument that is neither a result nor one of ours."""
    raw = []
    for name in case.valid:
        for label in FEW if case.few else ABSURD:
            if (name, label) in case.slow:
                continue
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    case.call(**(case.valid | {name: ABSURD[label]}))
            except CajoleError:
                pass
            except Exception as reason:  # whatever else it is, it is the defect
                raw.append(f"{name}={label}: {type(reason).__name__}: {str(reason)[:120]}")
    return raw


@pytest.mark.parametrize("part", range(PARTS))
def test_every_argument_bad_input(files: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.chdir(files)
    found = cases()
    raw = {name: absurd_calls(found[name]) for name in list(found)[part::PARTS]}
    assert not {name: calls for name, calls in raw.items() if calls}


def test_every_name_identity() -> None:
    """A new public name must be tried here."""
    tried = {name.split(".")[0].split(" ")[0] for name in cases()}
    errors = {
        name for name in cj.__all__ if isinstance(getattr(cj, name), type) and issubclass(getattr(cj, name), Exception)
    }
    assert set(cj.__all__) - {"__version__"} - errors - MADE_BY_OTHERS <= tried


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cj.simulate(solid(), 10**12), "a motion of 1000000000000 frames would take .* of memory"),
        (lambda: cj.simulate(solid(), 10**30), "frames is 1000000000000000000000000000000, which is more"),
        (lambda: flow().simulate(10**12, 0.1), "a flow of 1000000000000 frames would take .* of memory"),
        (lambda: flow().simulate(10**30, 0.1), "more than any computer counts"),
        (lambda: controller().run(loops=10**12), "use fewer loops or frames"),
        (lambda: controller().run(cj.Push(5, (0, 0, 1.0), 1e308)), "1e.308 s are inf steps of .* use a shorter time"),
        (lambda: controller().run(cj.Push(5, (0, 0, 1.0), 0, 1e308)), "use a shorter time"),
        (lambda: controller().start().push(5, (0, 0, 1.0), 1e308), "use a shorter time"),
        (lambda: flow().simulate(3, 0.1, force=cj.Gust((3, 3), (1, 0), 2.0, 1e308)), "use a shorter time"),
        (lambda: cj.simulate(solid(), 3, 1e200), "dt / substeps .* is 1e.200, but must lie between"),
        (lambda: cj.simulate(solid(), 3, 1e-300), "dt / substeps .* is 1e-300, but must lie between"),
        (lambda: cj.simulate(solid(), 3, obstacles=5), "obstacles must be an obstacle, or a list of them, not 5"),
        (lambda: motion().resampled(5e-324), "fps is 4.94066e-324, but must lie between"),
        (lambda: referred(10**12), "a reference of 4000000000000 steps would take .* use fewer substeps"),
        (lambda: referred(2**63 - 1), "use fewer substeps"),
        (lambda: enriched(10**12), "a motion of 1000000000000 frames would take .* use fewer frames"),
        (lambda: enriched(2**63 - 1), "use fewer frames"),
        (lambda: cj.sample_flow(flow_motion(), runs=10**12), "the snapshots of 1000000000000 runs would take"),
        (lambda: cj.sample_flow(flow_motion(), runs=2**63 - 1), "use fewer runs"),
        (lambda: cj.steer(controller().reference, vertices=[[1], [1, 2]]), "vertices must be whole numbers of shape"),
        (lambda: cj.picture(motion(), colors=[[1], [1, 2]]), "colors must be numbers of shape"),
        (lambda: cj.picture(motion(), props=5), "props must be a list of Prop, not 5"),
        (lambda: cj.picture(motion(), smooth=np.ones(3)), "smooth must be True or False, not array"),
        (lambda: cj.strip(motion(), onion=np.ones(3)), "onion must be True or False, not array"),
        (lambda: cj.keyframe(solid(), {3: np.zeros((12, 3))}, 4, watch="x"), "watch must be a function .* not 'x'"),
        (lambda: cj.sample_flow(flow_motion(), runs=10**6 + 1), "runs is 1000001, but must be at most 1000000; use"),
        (lambda: cj.simulate(solid(), 3, substeps=10**12), "substeps is 1000000000000, but must be at most 1000000"),
        (lambda: controller().start().step(10**12), "count .of steps. is 1000000000000, but must be at most 1000000"),
        (lambda: flow_controller().start().step(10**12), "count .of steps. is 1000000000000, but must be at most"),
        (lambda: enriched(3, newton=10**12), "newton is 1000000000000, but must be at most 1000000; use a smaller"),
        (lambda: cj.sample_basis(solid(), motion(), runs=10**12), "runs is 1000000000000, but must be at most"),
        (lambda: cj.sample_basis(solid(), motion(), substeps=10**12), "substeps is 1000000000000, but must be at"),
        (lambda: cj.sample_basis(solid(), motion(), cluster=10**12), "a number of processes. is 1000000000000, but"),
        (lambda: cj.sample_basis(solid(), motion(), cluster="processes:9999"), "is 9999, but must be between 1 and"),
        (lambda: cj.sample_basis(solid(), motion(), cluster=f"dask:{'9' * 5000}"), "cluster is 'dask:999"),
        (lambda: keyed(iterations=10**12), "iterations is 1000000000000, but must be at most 1000000; use a smaller"),
        (lambda: cj.MaterialShell(thickness=1e300), "thickness .m. is 1e.300, but must be at most 1e.06; lengths are"),
        (lambda: cj.MaterialShell(thickness=10**30), "thickness .m. is 1e.30, but must be at most 1e.06; lengths are"),
        (lambda: cj.MaterialShell(young=1e308, thickness=1e5), "too large for double precision; check their units"),
        (lambda: cj.MaterialShell(young=10**400), "young .* too large for double precision"),
        (lambda: cj.MaterialStVK(young=1e308, poisson=0.4999999), "too large for double precision"),
        (lambda: cj.embed(np.full((5, 3), 1e300), mesh()), "points.0. is 1e.300 m away from the mesh"),
        (lambda: motion().write("a\0.npz"), "NUL character"),
        (lambda: motion().moved([[1.0], [2.0, 3.0]]), "positions must be real numbers"),
    ],
)
def test_messages_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(cj.InputError, match=message):
        call()


def test_flow_controller_of_long_steps_bad_input(files: Path, tmp_path: Path) -> None:
    """A step so long that pivots overflow: refused when it is loaded, or when it runs."""
    with np.load(files / "flow.npz") as whole:
        arrays = dict(whole)
    for dt, message in ((0.0, "dt"), (1e300, "dt"), (4.6e18, "overflow")):
        np.savez(tmp_path / "flow.npz", **(arrays | {"dt": np.array(dt)}))
        with pytest.raises(CajoleError, match=message):
            cj.load_flow_controller(tmp_path / "flow.npz").run(cj.Gust((3, 3), (1, 0), 2.0))


# lists of a saved edit, and numbers in whose place NumPy fails on ragged lists in a way of its own
EDIT_VALUES: list[tuple[tuple[str | int, ...], str]] = [
    (("eigenvalues",), "eigenvalues"),
    (("eigenvalues", 0), "eigenvalues"),
    (("input", "fps"), "fps"),
    (("settings", "damping"), "damping"),
    (("settings", "damping", 0), "damping"),
    (("settings", "h"), "h"),
    (("settings", "smoothness"), "smoothness"),
    (("holds", 0, "target"), "target"),
    (("holds", 0, "target", 0), "target"),
    (("holds", 0, "directions", 0, 0), "directions"),
    (("holds", 0, "linear", 0), "linear"),
]


@pytest.mark.parametrize(("place", "name"), EDIT_VALUES, ids=lambda value: str(value))
def test_ragged_edit_bad_input(tmp_path: Path, place: tuple[str | int, ...], name: str) -> None:
    made = cj.edit(motion(), solid(), 6)
    made.drag(5, 2, motion().positions[2, 5] + [0.0, 0.0, 0.01])
    cj.save_edit(made, tmp_path / "edit.json")
    text = (tmp_path / "edit.json").read_text()
    for ragged in ([[1.0], [2.0, 3.0]], [[[1.0]], 2.0], [[], [1.0]]):
        document = table = json.loads(text)
        for key in place[:-1]:
            table = table[key]
        table[place[-1]] = ragged
        (tmp_path / "edit.json").write_text(json.dumps(document))
        with pytest.raises(cj.FileError, match=name):
            cj.load_edit(tmp_path / "edit.json", motion(), solid())
