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
    "missing": _("It no longer exists."),
    "exists": _("A file or folder with this name already exists."),
    "not_folder": _("This isn't a folder."),
    "is_folder": _("A folder with this name already exists."),
    "not_file": _("This isn't a regular file, so it can't be read."),
    "not_kept": _("This is a system folder. Choose a folder inside it."),
    "no_tar": _("This image has no tar, so folders can't be downloaded. Download files one by one."),
    "no_words": _("This image lacks a required program (stat or sha256sum)."),
    "no_shell": _("This image has no shell, so its files can't be accessed here."),
    "no_room": _("There isn't enough disk space for this file. Nothing was uploaded."),
    "disk_full": _("The disk is full. The partial upload was deleted."),
    "read_only": _("This disk is read-only."),
    "forbidden": _("The instance doesn't allow this."),
    "mounted": _("A disk is mounted here. It can be emptied, but not deleted or renamed."),
    "name_too_long": _("The name is too long."),
    "bad_path": _("This name isn't valid for a file."),
    "into_itself": _("A folder can't be moved into itself."),
    "no_memory": _("The instance is out of memory."),
    "too_slow": _("This takes too long here. Use the terminal instead."),
    "short": _("The file shrank during the upload."),
    "too_long": _("The file grew during the upload."),
    "changed": _("The file changed while it was being read. Try again."),
    "checksum_differs": _("The upload was corrupted and has been discarded. Try again."),
    "taken_over": _("The upload continues in another window."),
    "not_running": _("The instance is no longer running."),
    "not_there": _("The instance isn't responding."),
    "host_away": _("The host isn't connected right now."),
    "too_many_streams": _("Too many connections to this instance's files. Close some and try again."),
    "unknown_kind": _("This host's agent is too old for file management in the browser."),
    "unreadable": _("Your browser can no longer read this file. It may have been changed, moved or deleted."),
    "lost": _("The connection was lost."),
    "refused": _("The instance refused this action."),
}
WORDS: Final = {
    "host_says": _("The host says: “{words}”"),
    "loading": _("Loading…"),
    "empty": _("This folder is empty."),
    "only_hidden": _("This folder has only hidden files."),
    "entries": _("{n} entries"),
    "free": _("{size} free"),
    "more": _("Only the first {n} are shown. Use the terminal for larger folders."),
    "unfinished": _("unfinished upload"),
    "link_to_folder": _("link to a folder"),
    "link": _("link"),
    "other": _("special file"),
    "waiting": _("waiting"),
    "sending": _("{done} of {size}"),
    "checking": _("checking"),
    "done": _("done, checksum matches"),
    "done_unsure": _("done; not verified, because this image has no sha256sum"),
    "again": _("connection lost, resuming automatically"),
    "cancelled": _("cancelled"),
    "skipped": _("skipped"),
    "uploads": _("{done} of {all} uploaded"),
    "speed": _("{size}/s"),
    "left": _("{time} left"),
    "delete_one": _("Delete {name}?"),
    "delete_many": _("Delete {n} entries?"),
    "delete_folder": _("This permanently deletes the folder and everything in it."),
    "delete_file": _("This permanently deletes it. It can't be restored."),
    "binary": _("This isn't a text file. Download it to view it."),
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
