"""What an engine and a folder have of something while agents are at work there: what goes meanwhile is not there."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from docker.errors import NotFound


def containers_of(engine: Any, instance: str) -> list[dict[str, Any]]:
    """Inspected; those that have ended too."""
    shown = []
    for item in engine.containers(all=True, filters={"label": f"berth.instance={instance}"}):
        with suppress(NotFound):
            shown.append(engine.inspect_container(item["Id"]))
    return shown


def paths_with(folder: Path, part: str) -> list[str]:
    """All below it that have this in their name. `Path.rglob` would break off at a folder that goes while it reads."""
    return [
        str(Path(where, name)) for where, folders, files in os.walk(folder) for name in (*folders, *files) if part in name
    ]
