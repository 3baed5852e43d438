"""Contents of the start page: scenes with pictures that are rendered in the background, and stored projects."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import cajole
from cajole.errors import FileError, InputError
from cajole.storage import find_cache_folder, replace_atomically
from cajole.studio.content import ANIMATION_SUFFIXES, MESH_SUFFIXES
from cajole.studio.messages import Catalogue, CatalogueScene, FileFormats, RecentProject
from cajole.studio.mode_registry import list_scene_cards
from cajole.studio.modes.definition import SceneCard
from cajole.studio.project_store import ProjectRecord, ProjectStore

# increased when pictures are rendered differently, so that older ones are rendered again
PICTURE_VERSION = 2


DRAWING_SCRIPT = """
import os, sys
hasattr(os, "nice") and os.nice(19)
from cajole.studio.scene_pictures import main
main(sys.argv[1:])
"""


class SceneCatalogue:
    """Scenes and stored projects. The cache holds pictures, and marks of scenes that were opened before."""

    def __init__(self, store: ProjectStore):
        self._store = store
        # render missing pictures when the start page is requested
        self.draws_pictures = False
        self._drawing_process: subprocess.Popen[bytes] | None = None
        self._attempted_keys: set[str] = set()

    def build_message(self, *, is_idle: bool = True) -> Catalogue:
        """The start page. is_idle: no project is open, so pictures may be drawn in the background."""
        if self.draws_pictures and is_idle:
            self.draw_missing_pictures()
        recent = self._store.list_recent()
        return Catalogue(
            tuple(self._describe_scene(card) for card in list_scene_cards()),
            tuple(describe_recent_project(record, self._store.has_stale_lock(record.id)) for record in recent),
            FileFormats(
                read=_strip_dots([*ANIMATION_SUFFIXES, *MESH_SUFFIXES, ".cajole"]),
                write=_strip_dots(ANIMATION_SUFFIXES),
            ),
            cajole.__version__,
        )

    def get_title(self, name: str, mode: str) -> str:
        """Title of a scene. Raises InputError for one that the mode does not have."""
        for card in list_scene_cards():
            if (card.name, card.mode) == (name, mode):
                return card.title
        known = ", ".join(card.name for card in list_scene_cards() if card.mode == mode)
        raise InputError(f"there is no scene {name!r} for {mode}; choose one of {known or 'those of another verb'}")

    def record_opening(self, name: str, mode: str) -> None:
        """Mark that all slow parts of a scene are in the cache, and let its placeholder picture be replaced."""
        key = f"{mode}-{name}"
        if not has_cached_scene(key):
            # a cache that is not writable is no reason to fail
            with contextlib.suppress(FileError), replace_atomically(_get_opened_marker_path(key)) as path:
                path.write_text("opened\n", encoding="utf-8")
            if not any(card.is_quick for card in list_scene_cards() if card.key == key):
                # served until the new picture is rendered
                with contextlib.suppress(OSError):
                    _get_picture_path(key).replace(_get_placeholder_path(key))
                self._attempted_keys.discard(key)

    def find_picture(self, key: str) -> Path | None:
        """The picture of a scene; None if there is none yet."""
        if key not in {card.key for card in list_scene_cards()}:
            return None
        return next((path for path in (_get_picture_path(key), _get_placeholder_path(key)) if path.is_file()), None)

    def draw_missing_pictures(self) -> None:
        """Render missing pictures in another process of lowest priority; does nothing without Pillow."""
        keys = [card.key for card in list_scene_cards() if card.key not in self._attempted_keys]
        missing = [key for key in keys if not _get_picture_path(key).is_file()]
        at_work = self._drawing_process is not None and self._drawing_process.poll() is None
        if not missing or at_work or importlib.util.find_spec("PIL") is None:
            return
        self._attempted_keys.update(missing)
        command = [sys.executable, "-c", DRAWING_SCRIPT, *missing]
        # one thread, so that the studio stays responsive
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._drawing_process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def close(self) -> None:
        """Stop rendering."""
        if self._drawing_process is not None and self._drawing_process.poll() is None:
            self._drawing_process.terminate()
            self._drawing_process.wait()
        self._drawing_process = None

    def _describe_scene(self, card: SceneCard) -> CatalogueScene:
        return CatalogueScene(
            name=card.name,
            title=card.title,
            text=card.description,
            group=card.group,
            modes=(card.mode,),
            picture=f"/pictures/{card.key}.webp",
            facts=card.facts,
            ready=card.is_quick or has_cached_scene(card.key),
        )


def describe_recent_project(record: ProjectRecord, is_recovered: bool) -> RecentProject:
    """A project of the start page; its picture is that of the scene it was made from."""
    scene, mode = record.source.scene, record.source.mode
    return RecentProject(
        id=record.id,
        name=record.name,
        mode=record.mode,
        text=record.summary,
        when=record.changed_at,
        picture=None if scene is None else f"/pictures/{mode}-{scene}.webp",
        recovered=is_recovered,
    )


def _get_picture_path(key: str) -> Path:
    return get_picture_folder() / f"{key}.webp"


def _get_placeholder_path(key: str) -> Path:
    return get_picture_folder() / f"{key}.portrait.webp"


def get_picture_folder() -> Path:
    """The folder of the pictures of scenes."""
    return find_cache_folder() / "studio" / f"pictures-{PICTURE_VERSION}"


def has_cached_scene(key: str) -> bool:
    """True if a scene was opened before, so that its slow parts are in the cache."""
    return _get_opened_marker_path(key).is_file()


def _get_opened_marker_path(key: str) -> Path:
    return find_cache_folder() / "studio" / f"opened-{cajole.__version__}" / key


def _strip_dots(suffixes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(suffix.removeprefix(".") for suffix in suffixes))
