"""Inside Blender: operators with a window wait beside it. There is none here: a stand-in counts what is asked of it."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import bpy
from inside import answered
from inside_addon import installed
from inside_scene import banner

# set once an operator was asked whether it is done, until which its talk goes on
LOOKED = threading.Event()


class Window:
    """The parts of a context that a waiting operator uses."""

    def __init__(self) -> None:
        self.timers, self.handlers, self.texts = 0, 0, []
        self.window_manager = SimpleNamespace(
            event_timer_add=lambda seconds, window: self._timer(1),
            event_timer_remove=lambda timer: self._timer(-1),
            modal_handler_add=self._handler,
        )
        self.workspace = SimpleNamespace(status_text_set=self.texts.append)
        self.window = self

    def _timer(self, change: int) -> str:
        self.timers += change
        return "timer"

    def _handler(self, operator: Any) -> None:
        self.handlers += 1


def waited(package: Any, talk: Any, finish: Any) -> dict[str, Any]:
    """What an operator does whose talk with the studio is `talk`."""
    window, said = Window(), []

    class Operator(package.operators._Beside):
        def begin(self, context: Any) -> Any:
            return talk

        def finish(self, context: Any, result: Any) -> None:
            finish(result)

        def report(self, kind: set[str], text: str) -> None:
            said.append(text)

    LOOKED.clear()
    operator = Operator()
    states = [*operator.invoke(window, None)]
    while states[-1] in ("RUNNING_MODAL", "PASS_THROUGH"):  # whoever runs this script ends it where it takes forever
        states += operator.modal(window, None)
        LOOKED.set()
        time.sleep(0.01)
    told = {"states": list(dict.fromkeys(states)), "timers": window.timers, "handlers": window.handlers}
    return told | {"texts": window.texts, "said": said}


def main(addon: str) -> dict[str, Any]:
    thing = banner()
    package = installed(addon)
    done: list[Any] = []

    def slow() -> str:
        LOOKED.wait()
        return threading.current_thread().name

    def broken() -> str:
        raise package.client.StudioError("the studio is out")

    def gone(result: Any) -> None:
        bpy.data.objects.remove(thing)
        thing["cajole_project"] = result

    well = waited(package, slow, done.append)
    return {
        "well": well | {"beside": done[0] != threading.main_thread().name},
        "refused": waited(package, broken, done.append),
        "unexpected": waited(package, lambda: 1 / 0, done.append),
        "gone": waited(package, slow, gone),
    }


answered(main)
