"""The way in: the console opens at once; the command line is read for anything else.

Reading the command line costs as much as a quarter of the first paint, so that a bare `fleetui`
does without.
"""

import os
import sys

from fleetui import config, verbs


def main() -> None:
    """Run the program; the exit status is 0 fine, 1 a bad state, 2 wrong use."""
    try:
        result = _run() if sys.argv[1:] else verbs.open_console({})
    except config.ConfigError as error:
        verbs.refuse(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader went away (`| head`); say nothing more on that pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(result if isinstance(result, int) else 0)


def _run() -> object:
    from fleetui.cli import app  # noqa: PLC0415 - see above

    return app(result_action="return_value")
