"""What the tests of meshes share."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.mesh import MeshTet


@pytest.fixture
def corner() -> MeshTet:
    """One tet: the origin and the three unit vectors."""
    return MeshTet(np.vstack([np.zeros(3), np.eye(3)]), [[0, 1, 2, 3]])
