"""A whole agent that ends at once, without a word, at the named checkpoint: `-m tests.docker.doomed_agent STATE NAME`."""

import os
import sys
from pathlib import Path

from agents.daemon import wiring
from agents.daemon.lib.config import load_config

KILLED = 137


def main(state: Path, fatal: str) -> None:
    def checkpoint(name: str) -> None:
        if name == fatal:
            os._exit(KILLED)

    wiring.build_agent(state, load_config(state), checkpoint).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
