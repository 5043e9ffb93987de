"""Template context of an instance's file page, with the texts of its script."""

from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from accounts.models import User
from instances.core.selectors import instance_of
from instances.states import InstanceState
from instances.web.lifecycle.context import CPU_RUN

HOME: Final = "/root"
DATA: Final = "/data"

# Codes of the agent and the relay whose own sentence is to be replaced.
REFUSALS: Final = {
    "missing": _("It is no longer there."),
    "exists": _("There is something of that name already."),
    "not_folder": _("This is no folder."),
    "is_folder": _("There is a folder of that name."),
    "not_file": _("This is no file that can be read to an end."),
    "not_kept": _("This folder is the system's own; choose one below it."),
    "no_tar": _("This image has no tar, so folders cannot be packed. Download single files."),
    "no_words": _("This image lacks a program that this needs (stat or sha256sum)."),
    "no_shell": _("This image has no shell, so its files cannot be reached from here."),
    "no_room": _("The disk has too little room for this file. Nothing of it was sent."),
    "disk_full": _("The disk is full. What had come of this file was removed."),
    "read_only": _("This disk is read-only."),
    "forbidden": _("The instance does not allow this."),
    "mounted": _("A disk is mounted here: it can be emptied, not removed or renamed."),
    "name_too_long": _("The name is too long."),
    "bad_path": _("This is no name that a file can have."),
    "into_itself": _("A folder cannot be moved into itself."),
    "no_memory": _("The instance has no memory left for this."),
    "too_slow": _("This takes too long here; do it in the terminal."),
    "short": _("The file became shorter while it was sent."),
    "too_long": _("The file became longer while it was sent."),
    "changed": _("The file was changed while it was read. Try again."),
    "checksum_differs": _("What arrived differs from your file, so nothing of it was kept. Try again."),
    "taken_over": _("It goes on in another window."),
    "not_running": _("The instance does not run any more."),
    "not_there": _("The instance does not answer at the moment."),
    "host_away": _("The host is not connected at the moment."),
    "too_many_streams": _("Too many windows and programs are at this instance's files. Close one."),
    "unknown_kind": _("The agent of this host is too old for files in the browser."),
    "unreadable": _("Your browser cannot read this file any more: it was changed, moved or removed."),
    "lost": _("The connection broke."),
    "refused": _("The instance refused."),
}
WORDS: Final = {
    "host_says": _("The host says: “{words}”"),
    "loading": _("Looking …"),
    "empty": _("This folder is empty."),
    "only_hidden": _("There are only hidden files here."),
    "entries": _("{n} entries"),
    "free": _("{size} free"),
    "more": _("Only the first {n} are shown; use the terminal for a folder of this size."),
    "unfinished": _("unfinished upload"),
    "link_to_folder": _("link to a folder"),
    "link": _("link"),
    "other": _("no plain file"),
    "waiting": _("waiting"),
    "sending": _("{done} of {size}"),
    "checking": _("checking"),
    "done": _("done, checksum equal"),
    "done_unsure": _("done; this image has no sha256sum to check it"),
    "again": _("connection lost; it goes on by itself"),
    "cancelled": _("cancelled"),
    "skipped": _("skipped"),
    "uploads": _("{done} of {all} uploaded"),
    "speed": _("{size}/s"),
    "left": _("{time} left"),
    "delete_one": _("Delete {name}?"),
    "delete_many": _("Delete {n} entries?"),
    "delete_folder": _("The folder and everything in it is gone for good."),
    "delete_file": _("It is gone for good: there is no bin to take it back from."),
    "binary": _("This is no text. Download it to look at it."),
    "cut": _("Only the first {size} are shown."),
    "copied": _("Path copied"),
    "replace_all": _("Replace all {n}"),
}


def files_context(renter: User, instance_id: UUID) -> dict[str, Any]:
    """Return the context of the file page, or raise NotFound."""
    instance = instance_of(renter, instance_id)
    return {
        "instance": instance,
        "is_running": instance.state == InstanceState.RUNNING,
        "cpu_run": CPU_RUN,
        "words": {**{key: str(text) for key, text in WORDS.items()}, "refusals": {k: str(v) for k, v in REFUSALS.items()}},
        "home": HOME,
        "data": DATA if instance.data_disk_gb else "",
    }
