"""What renters bring: an image with tools but without a server that runs, and one that is busybox alone."""

import subprocess
from typing import Any, Final

import pytest

from tests.docker.conftest import ROOT

PLAIN: Final = "berth/plain:test"
SMALL: Final = "berth/busybox:test"


@pytest.fixture(scope="session")
def plain_images(engine: Any, image: str) -> None:
    for tag, target in ((PLAIN, "plain"), (SMALL, "small")):
        command = ["docker", "build", "-q", "-t", tag, "--target", target, "--build-arg", f"BASE={image}", "-"]
        recipe = (ROOT / "tests" / "docker" / "plain.Dockerfile").read_text()
        subprocess.run(command, input=recipe, text=True, check=True, capture_output=True, timeout=300)
