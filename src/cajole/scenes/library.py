"""The built-in scenes by name; a recipe is only written out when asked for."""

from __future__ import annotations

from collections.abc import Callable

from cajole.scenes import beam, bridge, dinosaur, elephant, fish, flower, strike, tee
from cajole.scenes.recipe import Recipe

RECIPES: dict[str, Callable[[], Recipe]] = {
    "beam": beam.recipe,
    "bridge": bridge.recipe,
    "dinosaur": dinosaur.recipe,
    "dinosaur-large": dinosaur.recipe_large,
    "elephant": elephant.recipe,
    "fish": fish.recipe,
    "flower": flower.recipe,
    "strike": strike.recipe,
    "tee": tee.recipe,
}
