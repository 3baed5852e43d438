"""The vibration modes of a fish that nothing holds.

python examples/03_listen_to_a_fish.py
"""

import numpy as np

import cajole as cj


def main() -> cj.Modes:
    """The six rigid motions and the first six vibrations."""
    fish = cj.scene("fish")
    modes = cj.modes(fish.body(), 12, rigid=True)
    for index, frequency in enumerate(modes.frequencies):
        kind = "rigid" if index < modes.rigid_count else "elastic"
        print(f"mode {index + 1:2d}: {frequency:6.3f} Hz, {kind}")
    return modes


def check() -> None:
    """Mass-orthonormal shapes: φᵀ M φ = 1."""
    modes = main()
    assert modes.rigid_count == 6
    assert modes.eigenvalues[6] > 0
    M = cj.scene("fish").body().mass
    assert np.allclose(modes.shapes.T @ (M @ modes.shapes), np.eye(12), atol=1e-8)


if __name__ == "__main__":
    check()
