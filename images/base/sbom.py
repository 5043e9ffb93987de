"""Print what an image contains as a CycloneDX document: its packages of the distribution, of Python and of npm.

python sbom.py /opt/venv: run while the image is built, by an interpreter of its own that has cyclonedx-python-lib.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

_DPKG = ["dpkg-query", "--show", "--showformat", "${Package}\t${Version}\t${Architecture}\n"]
_NPM = Path("/opt/npm")


def _component(url: PackageURL) -> Component:
    name, version = str(url.name), str(url.version)
    return Component(type=ComponentType.LIBRARY, name=name, version=version, purl=url, bom_ref=str(url))


def _of_the_distribution() -> Iterator[Component]:
    release = dict(line.partition("=")[::2] for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines())
    name = release["ID"].strip('"')
    distro = f"{name}-{release['VERSION_ID'].strip(chr(34))}"
    listing = subprocess.run(_DPKG, capture_output=True, text=True, check=True).stdout  # noqa: S603 (fixed words)
    for line in listing.splitlines():
        package, version, architecture = line.split("\t")
        yield _component(PackageURL("deb", name, package, version, {"arch": architecture, "distro": distro}))


def _of_python(environment: Path) -> Iterator[Component]:
    folders = [str(folder) for folder in environment.glob("lib/python3*/site-packages")]
    for found in distributions(path=folders):
        yield _component(PackageURL("pypi", None, found.metadata["Name"].lower().replace("_", "-"), found.version))


def _of_npm() -> Iterator[Component]:
    for file in _NPM.rglob("node_modules/**/package.json"):
        is_package = file.parent.parent.name == "node_modules" or file.parent.parent.parent.name == "node_modules"
        package = json.loads(file.read_text(encoding="utf-8")) if is_package else {}
        if package.get("name") and package.get("version"):
            scope, _, name = package["name"].rpartition("/")
            yield _component(PackageURL("npm", scope or None, name, package["version"]))


def main() -> None:
    found = {c.bom_ref.value: c for c in (*_of_the_distribution(), *_of_python(Path(sys.argv[1])), *_of_npm())}
    print(JsonV1Dot6(Bom(components=found.values())).output_as_string(indent=1))


if __name__ == "__main__":
    main()
