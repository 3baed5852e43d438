"""Cajole directs deformable simulations with gentle forces.

The public names are loaded on first use, so that `import cajole` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cajole.version import __version__

# the public names of each module
_NAMES_BY_MODULE = {
    "cajole.animation": "Animation Contacts find_contacts read_animation",
    "cajole.body": "BodyShell BodySolid BodySprings EmbeddedMesh MaterialShell MaterialStVK embed_in_solid read_body",
    "cajole.direct": (
        "Controller Editor EnrichResult Goal Key PoseSession Push RealtimeController Reference Regions Segment "
        "Wind build_reference edit enrich fit_pose fit_poses keyframe keyframe_sequence load_controller load_edit "
        "regions_clustered regions_interpolating regions_painted regions_subdivided reroute save_edit steer"
    ),
    "cajole.direct.steering.controller": "FlowController load_flow_controller",
    "cajole.direct.steering.disturbances": "GustNoise",
    "cajole.direct.steering.sampling": "SampledBasis sample_basis sample_flow",
    "cajole.dynamics": "Ground InitialState Modes ObstacleMesh modes pose simulate",
    "cajole.errors": (
        "CajoleError CajoleWarning Cancelled FileError InputError InversionWarning LoadError MeshError "
        "MissingExtra ModelMismatch NotConverged NotPositiveDefinite SolveError"
    ),
    "cajole.flow": "Flow FlowMotion Gust",
    "cajole.mesh": "Embedding MeshLine MeshTet MeshTri Skin embed read_mesh subdivide voxelise write_mesh",
    "cajole.pictures": "picture strip",
    "cajole.reduction": "FlowShot ReducedFlow load_model reduce",
    "cajole.scenes": "scene scene_names",
}
_MODULES_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}

__all__ = ["__version__", *sorted(_MODULES_BY_NAME)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES_BY_NAME:
        raise AttributeError(f"module 'cajole' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES_BY_NAME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from cajole.animation import Animation as Animation
    from cajole.animation import Contacts as Contacts
    from cajole.animation import find_contacts as find_contacts
    from cajole.animation import read_animation as read_animation
    from cajole.body import BodyShell as BodyShell
    from cajole.body import BodySolid as BodySolid
    from cajole.body import BodySprings as BodySprings
    from cajole.body import EmbeddedMesh as EmbeddedMesh
    from cajole.body import MaterialShell as MaterialShell
    from cajole.body import MaterialStVK as MaterialStVK
    from cajole.body import embed_in_solid as embed_in_solid
    from cajole.body import read_body as read_body
    from cajole.direct import Controller as Controller
    from cajole.direct import Editor as Editor
    from cajole.direct import EnrichResult as EnrichResult
    from cajole.direct import Goal as Goal
    from cajole.direct import Key as Key
    from cajole.direct import PoseSession as PoseSession
    from cajole.direct import Push as Push
    from cajole.direct import RealtimeController as RealtimeController
    from cajole.direct import Reference as Reference
    from cajole.direct import Regions as Regions
    from cajole.direct import Segment as Segment
    from cajole.direct import Wind as Wind
    from cajole.direct import build_reference as build_reference
    from cajole.direct import edit as edit
    from cajole.direct import enrich as enrich
    from cajole.direct import fit_pose as fit_pose
    from cajole.direct import fit_poses as fit_poses
    from cajole.direct import keyframe as keyframe
    from cajole.direct import keyframe_sequence as keyframe_sequence
    from cajole.direct import load_controller as load_controller
    from cajole.direct import load_edit as load_edit
    from cajole.direct import regions_clustered as regions_clustered
    from cajole.direct import regions_interpolating as regions_interpolating
    from cajole.direct import regions_painted as regions_painted
    from cajole.direct import regions_subdivided as regions_subdivided
    from cajole.direct import reroute as reroute
    from cajole.direct import save_edit as save_edit
    from cajole.direct import steer as steer
    from cajole.direct.steering.controller import FlowController as FlowController
    from cajole.direct.steering.controller import load_flow_controller as load_flow_controller
    from cajole.direct.steering.disturbances import GustNoise as GustNoise
    from cajole.direct.steering.sampling import SampledBasis as SampledBasis
    from cajole.direct.steering.sampling import sample_basis as sample_basis
    from cajole.direct.steering.sampling import sample_flow as sample_flow
    from cajole.dynamics import Ground as Ground
    from cajole.dynamics import InitialState as InitialState
    from cajole.dynamics import Modes as Modes
    from cajole.dynamics import ObstacleMesh as ObstacleMesh
    from cajole.dynamics import modes as modes
    from cajole.dynamics import pose as pose
    from cajole.dynamics import simulate as simulate
    from cajole.errors import CajoleError as CajoleError
    from cajole.errors import CajoleWarning as CajoleWarning
    from cajole.errors import Cancelled as Cancelled
    from cajole.errors import FileError as FileError
    from cajole.errors import InputError as InputError
    from cajole.errors import InversionWarning as InversionWarning
    from cajole.errors import LoadError as LoadError
    from cajole.errors import MeshError as MeshError
    from cajole.errors import MissingExtra as MissingExtra
    from cajole.errors import ModelMismatch as ModelMismatch
    from cajole.errors import NotConverged as NotConverged
    from cajole.errors import NotPositiveDefinite as NotPositiveDefinite
    from cajole.errors import SolveError as SolveError
    from cajole.flow import Flow as Flow
    from cajole.flow import FlowMotion as FlowMotion
    from cajole.flow import Gust as Gust
    from cajole.mesh import Embedding as Embedding
    from cajole.mesh import MeshLine as MeshLine
    from cajole.mesh import MeshTet as MeshTet
    from cajole.mesh import MeshTri as MeshTri
    from cajole.mesh import Skin as Skin
    from cajole.mesh import embed as embed
    from cajole.mesh import read_mesh as read_mesh
    from cajole.mesh import subdivide as subdivide
    from cajole.mesh import voxelise as voxelise
    from cajole.mesh import write_mesh as write_mesh
    from cajole.pictures import picture as picture
    from cajole.pictures import strip as strip
    from cajole.reduction import FlowShot as FlowShot
    from cajole.reduction import ReducedFlow as ReducedFlow
    from cajole.reduction import load_model as load_model
    from cajole.reduction import reduce as reduce
    from cajole.scenes import scene as scene
    from cajole.scenes import scene_names as scene_names
