"""`cajole studio`: direct interactively in the browser."""

from __future__ import annotations

import contextvars
import sys

from cajole.cli.command_options import StudioCommandOptions
from cajole.cli.output import get_current_invocation, print_result, show_compilation


def studio(options: StudioCommandOptions) -> None:
    """Serve the studio until Ctrl-C."""
    from cajole.studio import require_packages

    require_packages()
    from cajole.studio import server

    context = contextvars.copy_context()  # the address comes from a thread, which does not know the running command

    def announce(address: str) -> None:
        context.run(print_result, {"address": address}, "")
        sys.stdout.flush()

    with show_compilation():
        server.serve(
            options.source,
            mode=options.mode,
            host=options.host,
            port=options.port,
            browser=options.browser,
            folder=options.folder,
            announce=announce if get_current_invocation().as_json else None,
        )
