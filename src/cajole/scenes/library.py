"""The built-in scenes by name; a recipe is only written out when asked for."""

from __future__ import annotations

from collections.abc import Callable

from cajole.scenes import bridge, dinosaur, fish
from cajole.scenes.recipe import Recipe

RECIPES: dict[str, Callable[[], Recipe]] = {
    "bridge": bridge.recipe,
    "dinosaur": dinosaur.recipe,
    "dinosaur-large": dinosaur.recipe_large,
    "fish": fish.recipe,
}
