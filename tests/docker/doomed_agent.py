"""A whole agent that ends at once, without a word, at the named checkpoint: `-m tests.docker.doomed_agent STATE NAME`."""

import os
import sys
from pathlib import Path

from agents.daemon import assembly
from agents.daemon.config import load_config

KILLED = 137


def main(state: Path, fatal: str) -> None:
    def checkpoint(name: str) -> None:
        if name == fatal:
            os._exit(KILLED)

    assembly.build_agent(state, load_config(state), checkpoint).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
