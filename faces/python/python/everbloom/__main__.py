"""The command: ``python -m everbloom build keys.txt -o keys.evb``."""

import signal
import sys

from ._everbloom import run_command


def main() -> int:
    """Runs the command with the arguments of the process; its exit code."""
    # Python would only note an interrupt until the command is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["everbloom", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
