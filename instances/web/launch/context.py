"""Template context of what an instance runs."""

from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from instances.models import Instance
from instances.web.launch.forms import as_line
from instances.web.launch.serializers import launch_status_resource

LAUNCH_EVENTS: Final[dict[str, str | Promise]] = {
    "launch_changed": _("Environment and start command changed"),
    "ready": _("Ready: the readiness check passed"),
    "on_start_failed": _("Start script ended with an error"),
}
READY_LABELS: Final[dict[str, str | Promise]] = {
    "ready": _("Ready"),
    "starting": _("Starting"),
    "not_ready": _("Not ready"),
}
_SCRIPT_LABELS: Final[dict[str, str | Promise]] = {
    "running": _("running"),
    "lost": _("unknown: the host's agent restarted"),
}


def launch_context(instance: Instance) -> dict[str, Any]:
    """Return the context of what the instance runs, and what its host reported of the present run."""
    launch, status = instance.launch, launch_status_resource(instance)
    words = [] if launch is None else [launch.entrypoint, launch.command, launch.args]
    return {
        "launch": launch,
        "launch_line": " ".join(filter(None, map(as_line, words))),
        "launch_status": status,
        "readiness_label": READY_LABELS.get(status.ready or "") if status else None,
        "start_script_label": _SCRIPT_LABELS.get(status.on_start or "") if status else None,
    }
