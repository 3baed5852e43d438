"""The start page and what every page offers: scenes, files, theme, help, and all commands by the keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from studio_page import StudioPage
from studio_process import StudioProcess

from cajole.animation import Animation
from cajole.studio.mode_registry import list_scene_cards

PAGE = Path(__file__).parents[2] / "src" / "cajole" / "studio" / "web" / "src"
# All keys that the studio is promised to have, as the sheet writes them.
KEYS = {
    *"15VGBPMFKCRIXYZHTWNJA\\?[],.←→↑↓⏎",
    *("Esc", "Space", "Del", "Home", "Num 1", "Num 3", "Num 7"),
    *("Ctrl Z", "Ctrl ⇧ Z", "Ctrl S", "Ctrl O", "Ctrl ⇧ E", "Ctrl K", "⇧ ←", "⇧ →", "⇧ ,", "⇧ ."),
}


@pytest.fixture
def starting(page: StudioPage, studio: StudioProcess) -> StudioPage:
    page.open(studio.address)
    page.home()
    return page


def cards(page: StudioPage) -> list[str]:
    return page.ask("() => [...document.querySelectorAll('.card')].map((card) => card.dataset.scene)")


def toast(page: StudioPage, tone: str) -> str:
    """The words of the last toast of a tone, which may be gone from the page by now."""
    page.wait("(tone) => seen.toasts.some((toast) => toast.tone === tone)", tone)
    return page.ask("""(tone) => {
      const { title, text } = seen.toasts.findLast((toast) => toast.tone === tone);
      return `${title}\n${text ?? ""}`;
    }""", tone)  # fmt: skip


def test_scenes_of_each_verb(starting: StudioPage) -> None:
    page = starting
    for mode in ("keyframe", "steer", "enrich", "reroute", "edit"):
        page.page.get_by_role("radio", name=mode.capitalize()).first.click()
        page.wait(
            "(count) => document.querySelectorAll('.card').length === count",
            sum(c.mode == mode for c in list_scene_cards()),
        )
        assert cards(page) == [card.name for card in list_scene_cards() if card.mode == mode]
    page.wait("() => document.querySelectorAll('.card .picture.there').length > 0")
    page.shot("cards")


def test_files(starting: StudioPage, sway: Animation, sway_file: Path, beam_file: Path, tmp_path: Path) -> None:
    page = starting
    page.forgive("status of 400")
    for name, content in (("notes.txt", "hello"), ("broken.npz", "no archive"), ("empty.obj", "")):
        path = tmp_path / name
        path.write_text(content)
        page.give(path)
        page.page.locator(".toast.err").get_by_text(name).first.wait_for()
        said = toast(page, "err")
        assert name in said
        assert "Traceback" not in said
        assert "incoming" not in said, "the file has a name, where it lies is nobody's business"
    page.shot("wrong-files")
    assert page.ui["page"] == "start"

    # a mesh cannot be edited: it opens for what it is good for, and says why
    page.give(beam_file)
    assert "Nothing moves yet" in toast(page, "warn")
    page.brought()
    assert page.state["mode"] == "keyframe"
    page.home()
    page.bring(sway_file)
    assert page.state["mode"] == "edit"
    assert page.state["frames"] == sway.frames
    page.home()
    page.page.locator(".recent-row").first.wait_for()
    page.shot("recent")


def test_theme(starting: StudioPage) -> None:
    page = starting
    look = "() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]"
    dark = page.ask(look)
    page.chosen("button", "Dark or light")
    page.wait("() => cajole.app.ui.theme === 'light'")
    light = page.ask(look)
    assert dark[0] == "dark"
    assert light[0] == "light"
    assert dark[1] != light[1]
    page.page.reload()
    page.wait("() => window.cajole?.app.ui.theme === 'light'")
    page.home()


def test_help_and_palette(starting: StudioPage) -> None:
    page = starting
    page.key("?")
    sheet = page.page.get_by_role("dialog", name="Keyboard and mouse")
    sheet.wait_for()
    sheet.get_by_text("All", exact=True).click()
    listed = set(page.ask("() => [...document.querySelectorAll('dialog kbd')].map((each) => each.textContent)"))
    told = {part for key in listed for part in (key, *key.split(" "))}
    assert told >= KEYS, f"not on the sheet: {sorted(KEYS - told)}"
    page.shot("help")
    page.page.get_by_role("searchbox").fill("wireframe")
    page.wait("() => document.querySelectorAll('dialog .help-row').length === 1")
    page.key("Escape")  # empties the field of search, and the next closes the sheet
    page.key("Escape")
    page.wait("() => document.querySelector('dialog') === null")

    page.key("Control+k")
    page.page.get_by_role("combobox").fill("dark or")
    page.key("Enter")
    page.wait("() => cajole.app.ui.theme === 'light' && document.querySelector('dialog') === null")


def test_every_command_by_the_keyboard(starting: StudioPage, sway_file: Path) -> None:
    """The palette offers every command of the table, and of the modes that a solid has, in at least one mode."""
    page = starting
    page.bring(sway_file)
    modes = ("edit", "keyframe", "steer")
    found = set()
    for number, mode in enumerate(modes, 1):
        page.key(str(number))
        page.wait("(mode) => cajole.app.state.mode === mode", mode)
        page.key("Control+k")
        page.page.get_by_role("dialog").wait_for()
        found |= set(page.ask("() => [...document.querySelectorAll('.palette-row')].map((row) => row.id.slice(8))"))
        page.key("Escape")
        page.wait("() => document.querySelector('dialog') === null")
    files = [PAGE / "core" / "command-table.ts", *(PAGE / "modes" / mode / "index.ts" for mode in modes)]
    source = "\n".join(file.read_text(encoding="utf-8") for file in files)
    names = set(re.findall(r'\bid: "([\w.]+)"', source))
    names |= {f"tool.{name}" for name in re.findall(r'createToolCommand\("(\w+)"', source)}
    names |= {f"mode.{folder.parent.name}" for folder in PAGE.glob("modes/*/index.ts")}
    assert len(names) > 50
    # Escape has a key only, and the palette does not offer itself
    assert names - found == {"escape", "palette"}
