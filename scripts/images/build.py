"""Builds of official images with the engine of this machine."""

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.images.matrix import FOLDER, Flavour
from scripts.images.wheels import handed_over

_AUTHORITIES: Final = Path("/usr/local/share/ca-certificates")
_SBOM: Final = "/usr/share/berth/sbom.json"


@dataclass(frozen=True)
class How:
    """Choices of a build: steps of earlier builds are used again, Python's modules are compiled."""

    use_cache: bool = True
    compile: bool = True


def build(flavour: Flavour, start: str, how: How) -> float:
    """Build one flavour from `start`, the reference of what it starts from; return the seconds that it took.

    Raises:
        FilesMissing: pip does not find what has to be handed over.
        subprocess.CalledProcessError: a step failed; the engine's last lines are its output.
    """
    began = time.monotonic()
    before = _inspected(flavour.reference, "{{.Id}}")
    with handed_over(flavour) as wheels:
        network = ["--network", "host"] if wheels else []
        build_args = {**_arguments(flavour, start), "WHEELS": wheels, "COMPILE": str(int(how.compile))}
        words = [word for name, value in build_args.items() for word in ("--build-arg", f"{name}={value}")]
        command = ["docker", "build", "--force-rm", "--tag", flavour.reference, "--file", str(FOLDER / flavour.dockerfile)]
        cache = [] if how.use_cache else ["--no-cache"]
        _run([*command, *network, *cache, *words, *_labels(flavour), str(flavour.folder)])
    # After a build of the same, it has the name still. With another name it is somebody's: `docker rmi` would take that too.
    if before and _inspected(before, "{{len .RepoTags}}") == "0":
        subprocess.run(["docker", "rmi", before], capture_output=True, check=False)  # noqa: S603, S607 (kept while it is used)
    return time.monotonic() - began


def read_sbom(reference: str) -> str:
    """Return the bill of materials that an image holds."""
    return _run(["docker", "run", "--rm", "--network", "none", "--entrypoint", "cat", reference, _SBOM])


def size_of(reference: str) -> int:
    """Return the size of an image in bytes, with everything that it starts from."""
    return int(_run(["docker", "image", "inspect", "--format", "{{.Size}}", reference]))


def _arguments(flavour: Flavour, start: str) -> dict[str, str]:
    found = {
        "BASE": start,
        "CUDA": flavour.cuda,
        "BUILD_CA": "\n".join(file.read_text(encoding="utf-8") for file in sorted(_AUTHORITIES.glob("*.crt"))),
        **flavour.args,
    }
    if not flavour.lock:
        return {**found, "PYTHON": flavour.python}
    own = {"NAME": flavour.image, "LOCK": flavour.lock, "MODULE": flavour.module, "APT": " ".join(flavour.apt)}
    return {**found, **own}


def _labels(flavour: Flavour) -> list[str]:
    """Return the options that name what is in the image, and by its digest the external image that it starts from."""
    labels = {"title": flavour.title, "version": flavour.version}
    if not flavour.lock:
        labels["base.name"] = flavour.start
        digests = json.loads(_inspected(flavour.start, "{{json .RepoDigests}}") or "[]")
        if digests:
            labels["base.digest"] = digests[0].partition("@")[2]
    return [word for name, value in labels.items() for word in ("--label", f"org.opencontainers.image.{name}={value}")]


def _inspected(reference: str, wanted: str) -> str:
    """Return what the engine says of an image, "" if it has none of that name."""
    found = subprocess.run(  # noqa: S603 (a name of the matrix)
        ["docker", "image", "inspect", "--format", wanted, reference],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() if found.returncode == 0 else ""


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (words of the matrix)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise subprocess.CalledProcessError(done.returncode, "docker", tail)
    return done.stdout
