"""The command line: click over `api`. Results go to stdout, problems to stderr.

Here each error becomes one line and an exit code; `commands` lists the commands.
"""

import io
import os
import signal
import sys
import traceback
from types import TracebackType

import click

from skillvault.cli import hook
from skillvault.cli.commands import cli
from skillvault.cli.options import echo, say
from skillvault.model.errors import BadInputError, SkillvaultError


def main() -> None:
    """Run the command line; an error of skillvault is one sentence, never a traceback."""
    # The threads of a BLAS wait for each other in a busy loop, which small matrices never repay.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.excepthook = _show_traceback
    if "hook" in sys.argv:
        arguments = hook.split_vault(sys.argv[1:])
        command = arguments[2:] if arguments[:1] == ["--vault"] else arguments
        if command[:1] == ["hook"] and "--help" not in arguments:
            hook.run_quietly(arguments)  # an error must not block the prompt of a person
    stdout = sys.stdout
    try:
        sys.exit(cli(standalone_mode=False, prog_name="skillvault"))
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)  # the usage of the command and a sentence
        echo(text.getvalue(), err=True, nl=False)
        sys.exit(error.exit_code)
    except click.Abort as error:
        is_interrupted = isinstance(error.__context__, KeyboardInterrupt)
        _leave("stopped", 128 + signal.SIGINT if is_interrupted else 1)
    except BadInputError as error:
        _leave(error.message, error.exit_code)
    except SkillvaultError as error:
        _leave(str(error), error.exit_code)
    except SystemExit:
        if sys.stdout is stdout:
            raise
        # Click replaced it: the reader of our output went away, as `| head` does.
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _leave(f"{error.filename or 'the system'}: {error.strerror or error}", 1)


def _leave(message: str, code: int) -> None:
    say(f"skillvault: {message}")
    sys.exit(code)


def _show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback as Python does, without hidden characters."""
    echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)
