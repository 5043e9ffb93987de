"""Readable names of browsers and programs, from their user agents.

They are only for display; nothing relies on them.
"""

from typing import Final

from django.utils.translation import gettext as _

_CHARS: Final = 40
# The first match counts: most browsers also name those that they descend from.
_PROGRAMS: Final = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("berth", "Berth CLI"),
    ("curl/", "curl"),
    ("python", "Python"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


def device_name(agent: str) -> str:
    program = next((name for mark, name in _PROGRAMS if mark in agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    if program and system:
        return _("%(program)s on %(system)s") % {"program": program, "system": system}
    return program or system or agent[:_CHARS] or _("unknown device")
