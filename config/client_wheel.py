"""The Python client of this market's version, as the wheel that `/downloads` serves.

It is made of the sources in `clients/python`, so that every market serves the client that fits it, without a build step.
A test compares it with what the build backend makes of them.
"""

import base64
import csv
import hashlib
import io
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, require_safe

from agents.daemon import __version__
from common.errors import NotFound
from common.http.problems import problem_response

_SOURCES: Final = Path(settings.BASE_DIR) / "clients" / "python"
_NAME: Final = f"berth-{__version__}-py3-none-any.whl"
_INFO: Final = f"berth-{__version__}.dist-info"
_MADE_AT: Final = (2026, 1, 1, 0, 0, 0)  # the same bytes each time


@cache
def wheel_bytes() -> bytes:
    """Return the wheel: the sources, and what the packaging standards (PEP 427, 566, 639) want beside them."""
    project: dict[str, Any] = tomllib.loads((_SOURCES / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    members = dict(_sources())
    members[f"{_INFO}/licenses/LICENSE"] = (_SOURCES / "LICENSE").read_bytes()
    members[f"{_INFO}/METADATA"] = _metadata(project)
    members[f"{_INFO}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: berth\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    scripts = "".join(f"{name} = {target}\n" for name, target in project["scripts"].items())
    members[f"{_INFO}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    members[f"{_INFO}/top_level.txt"] = b"berth\n"
    members[f"{_INFO}/RECORD"] = _record(members)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, _MADE_AT)
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _sources() -> Iterator[tuple[str, bytes]]:
    root = _SOURCES / "src"
    for file in sorted(root.rglob("*")):
        if file.suffix == ".py" or file.name == "py.typed":
            yield file.relative_to(root).as_posix(), file.read_bytes()


def _metadata(project: dict[str, Any]) -> bytes:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {__version__}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
        "License-File: LICENSE",
        *(f"Requires-Dist: {each}" for each in project["dependencies"]),
    ]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {each}; extra == "{extra}"' for each in needs]
    readme = (_SOURCES / "README.md").read_text(encoding="utf-8")
    return ("\n".join(lines) + "\n\n" + readme).encode()


def _record(members: dict[str, bytes]) -> bytes:
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.writerow([name, f"sha256={digest}", len(content)])
    rows.writerow([f"{_INFO}/RECORD", "", ""])
    return written.getvalue().encode()


def _version(request: HttpRequest, name: str = "") -> str:
    return f'"{hashlib.sha256(wheel_bytes()).hexdigest()[:16]}"'


@require_safe
@cache_control(public=True, max_age=300)
@condition(etag_func=_version)
def download(request: HttpRequest, name: str) -> HttpResponse:
    if name != _NAME:
        detail = f"This market serves {request.build_absolute_uri('/downloads/' + _NAME)} alone."
        return problem_response(NotFound(detail))
    headers = {"Content-Disposition": f'attachment; filename="{_NAME}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(wheel_bytes(), content_type="application/octet-stream", headers=headers)


download_urlpatterns = [path("downloads/<str:name>", download, name="download")]


def install_line(site_url: str) -> str:
    """Return the command that installs the client from this market."""
    return f"pipx install {site_url}/downloads/{_NAME}"
