"""Cajole directs deformable simulations with gentle forces.

The public names, each exported once. They are loaded when first used, so that `import cajole` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> the module it lives in
_HOMES = {
    "Animation": "cajole.animation",
    "BodySolid": "cajole.body",
    "BodySprings": "cajole.body",
    "CajoleError": "cajole.errors",
    "Cancelled": "cajole.errors",
    "FileError": "cajole.errors",
    "InputError": "cajole.errors",
    "LoadError": "cajole.errors",
    "MaterialStVK": "cajole.body",
    "MeshError": "cajole.errors",
    "MeshTet": "cajole.mesh",
    "MeshTri": "cajole.mesh",
    "MissingExtra": "cajole.errors",
    "Modes": "cajole.dynamics",
    "NotConverged": "cajole.errors",
    "NotPositiveDefinite": "cajole.errors",
    "SolveError": "cajole.errors",
    "State": "cajole.dynamics",
    "modes": "cajole.dynamics",
    "picture": "cajole.picture",
    "pose": "cajole.dynamics",
    "read_animation": "cajole.animation",
    "read_mesh": "cajole.mesh",
    "scene": "cajole.scenes",
    "simulate": "cajole.dynamics",
    "write_mesh": "cajole.mesh",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cajole' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


if TYPE_CHECKING:
    from cajole.animation import Animation as Animation
    from cajole.animation import read_animation as read_animation
    from cajole.body import BodySolid as BodySolid
    from cajole.body import BodySprings as BodySprings
    from cajole.body import MaterialStVK as MaterialStVK
    from cajole.dynamics import Modes as Modes
    from cajole.dynamics import State as State
    from cajole.dynamics import modes as modes
    from cajole.dynamics import pose as pose
    from cajole.dynamics import simulate as simulate
    from cajole.errors import CajoleError as CajoleError
    from cajole.errors import Cancelled as Cancelled
    from cajole.errors import FileError as FileError
    from cajole.errors import InputError as InputError
    from cajole.errors import LoadError as LoadError
    from cajole.errors import MeshError as MeshError
    from cajole.errors import MissingExtra as MissingExtra
    from cajole.errors import NotConverged as NotConverged
    from cajole.errors import NotPositiveDefinite as NotPositiveDefinite
    from cajole.errors import SolveError as SolveError
    from cajole.mesh import MeshTet as MeshTet
    from cajole.mesh import MeshTri as MeshTri
    from cajole.mesh import read_mesh as read_mesh
    from cajole.mesh import write_mesh as write_mesh
    from cajole.picture import picture as picture
    from cajole.scenes import scene as scene
