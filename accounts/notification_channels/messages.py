"""Texts of notifications, in the active language.

Names entered by users are reduced to letters, digits, spaces and hyphens, as in mail, so that no program finds a link
in them.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.constants import CHANNEL_TEST, NOTICE_KINDS
from accounts.models import WebhookEvent
from accounts.notification_channels.formats.parts import Notification
from common.ids import public_id
from common.mail import name_in_mail
from common.messages.message import read
from common.messages.rendering import in_mail, moment_label

Facts = Mapping[str, Any]
_LINE_CHARS: Final = 300
_MOST_LINES: Final = 8


def build_notification(event: WebhookEvent, *, repeated: bool) -> Notification:
    """Return the notification of an event; `repeated` says that it may have arrived before."""
    title, lines = _message_of(event)
    if repeated:
        lines = [_("This may be a repeat: the first attempt was interrupted."), *lines]  # the last lines may be cut off
    return Notification(
        id=public_id("evt", event.pk),
        kind=event.kind,
        at=event.at,
        title=title,
        lines=tuple(line for line in lines if line)[:_MOST_LINES],
        link=settings.SITE_URL + _path(event.kind, event.payload),
        link_text=_("Open in Berth"),
        facts=event.payload,
    )


def _message_of(event: WebhookEvent) -> tuple[str, list[str]]:
    if event.kind == CHANNEL_TEST:
        return _("Test notification"), [_("This channel works. Notifications from Berth will arrive here.")]
    if event.kind in NOTICE_KINDS:
        lines = event.payload.get("lines", ())
        return str(event.payload.get("title", "")), [str(line)[:_LINE_CHARS] for line in lines]
    build = _MESSAGES.get(event.kind)
    if build is None:  # written by a later version
        return event.kind, []
    return build(event.payload)


def _name(facts: Facts) -> dict[str, str]:
    return {"name": name_in_mail(str(facts.get("name", "")))}


def _detail(facts: Facts) -> str:
    """Return the payload's message in the active language, or its English sentence."""
    message = read(facts.get("message"))
    if message is not None:
        return in_mail(message)
    return name_in_mail(str(facts.get("detail") or ""), most=_LINE_CHARS) if facts.get("detail") else ""


def _moment(value: object) -> str:
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return "–"
    return moment_label(at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))


def _started(facts: Facts) -> tuple[str, list[str]]:
    return _("%(name)s is running") % _name(facts), [_detail(facts)]


def _stopped(facts: Facts) -> tuple[str, list[str]]:
    return _("%(name)s was stopped") % _name(facts), [_detail(facts)]


def _failed(facts: Facts) -> tuple[str, list[str]]:
    return _("%(name)s failed") % _name(facts), [_detail(facts)]


def _released(facts: Facts) -> tuple[str, list[str]]:
    return _("%(name)s was released") % _name(facts), [_detail(facts)]


def _interrupted(facts: Facts) -> tuple[str, list[str]]:
    lost = _("Its GPUs go to another renter at %(at)s. Save your work now; the data disk is kept.")
    return _("%(name)s will be interrupted") % _name(facts), [lost % {"at": _moment(facts.get("stops_at"))}]


def _schedule(facts: Facts) -> tuple[str, list[str]]:
    titles = {
        "start": _("%(name)s was started by its schedule"),
        "stop": _("%(name)s was stopped by its schedule"),
        "idle_stop": _("%(name)s was stopped because it was idle"),
        "release": _("%(name)s was released by its schedule"),
        "failed": _("The schedule of %(name)s failed"),
    }
    title = titles.get(str(facts.get("action")), _("A scheduled action of %(name)s ran"))
    return title % _name(facts), [_detail(facts)]


def _release_warning(facts: Facts) -> tuple[str, list[str]]:
    params = {**_name(facts), "at": _moment(facts.get("release_at", facts.get("delete_at")))}
    return _("%(name)s: data will be deleted at %(at)s") % params, [_days(facts)]


def _storage_warning(facts: Facts) -> tuple[str, list[str]]:
    params = {**_name(facts), "at": _moment(facts.get("delete_at"))}
    return _("%(name)s will be deleted at %(at)s") % params, [
        _days(facts),
        _("Top up before then to resume billing and cancel the deletion."),
    ]


def _days(facts: Facts) -> str:
    days = facts.get("days")
    if not isinstance(days, int):
        return ""
    return ngettext("%(count)d day is left.", "%(count)d days are left.", days) % {"count": days}


def _archived(facts: Facts) -> tuple[str, list[str]]:
    return _("%(name)s was archived") % _name(facts), [_("Copied to object storage before deletion.")]


def _archive_failed(facts: Facts) -> tuple[str, list[str]]:
    return _("%(name)s couldn't be archived") % _name(facts), [_detail(facts)]


def _sync_done(facts: Facts) -> tuple[str, list[str]]:
    files = facts.get("copied_files", 0)
    count = files if isinstance(files, int) else 0
    copied = ngettext("%(count)d file was copied.", "%(count)d files were copied.", count) % {"count": count}
    return _("A sync of %(name)s finished") % _name(facts), [copied]


def _sync_failed(facts: Facts) -> tuple[str, list[str]]:
    failure = facts.get("failure")
    return _("A sync of %(name)s failed") % _name(facts), [_detail(failure) if isinstance(failure, dict) else ""]


def _alert_raised(facts: Facts) -> tuple[str, list[str]]:
    params = {**_name(facts), "what": _alert_title(facts)}
    return _("%(name)s: %(what)s") % params, [_("Alert")]


def _alert_resolved(facts: Facts) -> tuple[str, list[str]]:
    params = {**_name(facts), "what": _alert_title(facts)}
    return _("%(name)s: %(what)s") % params, [_("The alert ended.")]


def _alert_title(facts: Facts) -> str:
    return _detail(facts) or name_in_mail(str(facts.get("title", "")), most=_LINE_CHARS)


_MESSAGES: Final[Mapping[str, Callable[[Facts], tuple[str, list[str]]]]] = {
    "instance.started": _started,
    "instance.stopped": _stopped,
    "instance.failed": _failed,
    "instance.released": _released,
    "instance.preempt_notice": _interrupted,
    "instance.schedule": _schedule,
    "instance.release_warning": _release_warning,
    "storage.release_warning": _storage_warning,
    "instance.archived": _archived,
    "instance.archive_failed": _archive_failed,
    "sync.done": _sync_done,
    "sync.failed": _sync_failed,
    "alert.raised": _alert_raised,
    "alert.resolved": _alert_resolved,
}


def _path(kind: str, facts: Facts) -> str:
    """Return the path of the page about it."""
    if kind in NOTICE_KINDS:
        path = str(facts.get("path", "/"))
        return path if path.startswith("/") and not path.startswith("//") else "/"
    if kind == CHANNEL_TEST:
        return reverse("notification_channels")
    try:
        if isinstance(facts.get("instance"), str):
            return reverse("instance", args=[facts["instance"]])
        return reverse("object_storage" if kind.startswith("sync.") else "snapshots" if "snapshot" in facts else "volumes")
    except NoReverseMatch:
        return reverse("activity")
