"""The application: its commands, and the exit codes of their errors."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cajole.cli.command_options import COMMAND_PANELS
from cajole.cli.options import CajoleCommand, HelpWithoutTypesMixin, build_command
from cajole.cli.output import (
    ExitCode,
    UsageError,
    begin_invocation,
    build_error_document,
    describe_usage_error,
    print_document_once,
    print_error,
)
from cajole.errors import CajoleError, Cancelled


class CajoleGroup(HelpWithoutTypesMixin, TyperGroup):
    """A group of commands whose expected errors become a message and an exit code, never a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        begin_invocation("", list(args))
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            print_document_once(describe_usage_error(error))
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        begin_invocation(args[0], args[1:])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, Cancelled):
            raise _report_failure("cancelled: no partial files are left", "Cancelled", ExitCode.CANCELLED) from None
        except CajoleError as error:
            raise _report_failure(str(error), type(error).__name__) from None
        except MemoryError:
            message = "there is not enough memory for this; use fewer tets or frames"
            raise _report_failure(message, "MemoryError") from None
        except UsageError as error:  # typer prints it
            print_document_once(describe_usage_error(error))
            raise
        except (typer.Exit, typer.Abort, BrokenPipeError):  # a closed pipe needs no message
            raise
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                print_document_once(build_error_document(type(error).__name__, str(error), ExitCode.FAILED))
                raise
            # without this Python would try again to write the rest of the answer when it exits
            with contextlib.suppress(OSError, ValueError):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, sys.stdout.fileno())
                os.close(null)
            message = f"the answer cannot be written: {error.strerror}; free some space, or write it elsewhere"
            raise _report_failure(message, "FileError") from None
        except Exception as error:
            print_document_once(build_error_document(type(error).__name__, str(error), ExitCode.FAILED))
            raise


def _report_failure(message: str, kind: str, code: ExitCode = ExitCode.FAILED) -> typer.Exit:
    print_error(message)
    print_document_once(build_error_document(kind, message, code))
    return typer.Exit(int(code))


_HELP_NAMES = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    cls=CajoleGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=_HELP_NAMES,
)
for _panel, _commands in COMMAND_PANELS.items():
    for _name, _options in _commands.items():
        _register = app.command(rich_help_panel=_panel, cls=CajoleCommand, context_settings=_HELP_NAMES)
        _register(build_command(_name, _options))


def _print_version(value: bool) -> None:
    if value:
        import cajole

        typer.echo(f"cajole {cajole.__version__}")
        raise typer.Exit


@app.callback()
def cajole(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Direct deformable simulations with gentle forces.

    A body is a built-in scene ([cyan]cajole scenes[/] lists them) or a mesh file of your own. Start here:

    [green]cajole simulate dinosaur --push "head: 0,0.03,0 weights for 0.3" --output wag.glb[/]

    Every command has [cyan]--json[/] and [cyan]--help[/].
    """
