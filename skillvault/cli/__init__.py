"""The command line: click over `api`. Results go to stdout, problems to stderr.

This is the door where errors become one line and an exit code.
"""

import sys

from skillvault.cli.commands import cli
from skillvault.errors import BadInputError, SkillvaultError
from skillvault.hidden_characters import escaped


def main() -> None:
    """Run the command line; every error of ours is one sentence, never a traceback."""
    try:
        cli(standalone_mode=True, prog_name="skillvault")
    except BadInputError as error:
        _leave(error.message, error.exit_code)
    except SkillvaultError as error:
        _leave(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does.
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        _leave(f"{error.filename or 'the system'}: {error.strerror or error}", 1)


def _leave(message: str, code: int) -> None:
    print(escaped(f"skillvault: {message}"), file=sys.stderr)  # noqa: T201 (the door's own words)
    sys.exit(code)
