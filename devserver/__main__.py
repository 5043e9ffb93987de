"""Run the whole development stack in the foreground, or stop a running one.

python -m devserver         start it
python -m devserver dev     start it, and restart its programs when their code changes
python -m devserver down    stop it
"""

import sys

from devserver.external_services import StartFailed
from devserver.lock import AlreadyRunning, StackLock, stop_running
from devserver.paths import layout_from_environment
from devserver.stack import Stack


def up(*, reload: bool = False) -> int:
    layout = layout_from_environment()
    try:
        lock = StackLock(layout.pid_file)
    except AlreadyRunning as running:
        print(
            f"Berth already runs on {layout.state} (process {running}). Stop it with Ctrl-C or `make down`.", file=sys.stderr
        )
        return 1
    try:
        Stack(layout, reload=reload).run()
    except StartFailed as failure:
        print(f"Berth did not start: {failure}", file=sys.stderr)
        return 1
    finally:
        lock.release()
    return 0


def down() -> int:
    layout = layout_from_environment()
    stopped = layout.state.is_dir() and stop_running(layout.pid_file)
    print("Berth has stopped." if stopped else "Berth is not running.")
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            sys.exit(up())
        case ["dev"]:
            sys.exit(up(reload=True))
        case ["down"]:
            sys.exit(down())
        case _:
            sys.exit("usage: python -m devserver [dev | down]")
