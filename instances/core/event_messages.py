"""What events say beside their kind: sentences in the API's English, and in the reader's language for pages.

Each is written down filled in. A page finds its form again and fills in the translation; what has no form (a name, a size,
a moment) is shown as it is, and what a host or a renter wrote is quoted as theirs (`common.host_words`).
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from django import template
from django.utils.functional import Promise
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from billing.errors import TOO_LITTLE, TOO_LITTLE_BEFORE
from common.host_words import HOST_SAYS, RENTER_SAYS, holds_host_words, host_words_shown
from instances.core.alert_messages import TITLES, english_of
from instances.core.gpu_xid_errors import XID_TITLES
from marketplace.states import MaintenanceCategory

register = template.Library()

DISPUTED: Final = _(
    "A payment of yours is disputed by the card's bank: spot rents stop until that is decided. The data is kept."
)
TAKEN_BACK: Final = _(
    "A bank has taken back a card payment that paid for this instance. Its data is kept: start it again with other funds."
)
OUTBID: Final = _("Others outbid it, or an order at the full price needs its GPUs. It goes on by itself when it wins.")
SILENT_HOST: Final = _("Its host does not report; a new notice will follow when it does.")
UNPAID: Final = _("The wallet cannot pay for another hour. The data is kept: top up and start again.")
BID_UNPAID: Final = _("%(why)s The data is kept: top up and start again.")

BARRED: Final = _(
    "This account is now linked to the host's owner, so it can't bid here. The data is kept: rent by the hour instead."
)

NOTICE: Final = _("Its GPUs go to others at %(at)s UTC. The data disk is kept.")
HELD: Final = _("%(days)s days for up to %(fee)s, until %(at)s UTC.")

WRITTEN_OFF: Final = _(
    "Its host did not come back and was written off: that is the host's fault. Nothing is charged for the time since its"
    " last report at %(at)s UTC; what was on it is lost."
)

TERM_OVER: Final = _("It ended at %(at)s UTC.")
TERM_RENEWED: Final = _("Until %(at)s UTC.")
MAINTENANCE: Final = _("%(category)s: %(begins)s to %(ends)s UTC.")
MAINTENANCE_NOTED: Final = _("%(category)s: %(begins)s to %(ends)s UTC. %(note)s")

SYNC_UP: Final = _("to object storage: %(connection)s")
SYNC_DOWN: Final = _("from object storage: %(connection)s")

ARCHIVE_GIVEN_UP: Final = _("It could not be archived within %(days)s days: %(why)s")

STOP_AT: Final = _("stop at %(at)s UTC")
RELEASE_AT: Final = _("release at %(at)s UTC")
WEEKLY: Final = _("%(count)s weekly entries in %(zone)s")
STOP_IDLE: Final = _("stop below %(percent)s %% for %(minutes)s min")
NOTHING_SCHEDULED: Final = _("Nothing is scheduled any more.")

USED: Final = _("%(percent)s %% are used.")
AT_MOST: Final = _("At most %(percent)s %% in the last %(minutes)s minutes.")
MEMORY_LIMIT: Final = _("Its limit is %(size)s MiB.")
XID: Final = _("Xid %(number)s of %(gpu)s: %(title)s.")
ALERT_OVER: Final = _("%(alert)s: it is not so any more")
ALERT_SET_ASIDE: Final = _("%(alert)s: set aside by its renter")
ALERT_ENDED: Final = _("%(alert)s: the run has ended")

FORMS: Final = (
    *(DISPUTED, TAKEN_BACK, NOTICE, OUTBID, SILENT_HOST, UNPAID, BID_UNPAID, BARRED, TOO_LITTLE, TOO_LITTLE_BEFORE),
    *(WRITTEN_OFF, HELD, TERM_OVER, TERM_RENEWED, MAINTENANCE, MAINTENANCE_NOTED),
    *(SYNC_UP, SYNC_DOWN, ARCHIVE_GIVEN_UP, HOST_SAYS, RENTER_SAYS),
    *(STOP_AT, RELEASE_AT, WEEKLY, STOP_IDLE, NOTHING_SCHEDULED),
    *(USED, AT_MOST, MEMORY_LIMIT, XID, ALERT_OVER, ALERT_SET_ASIDE, ALERT_ENDED),
)
JOINT: Final = "; "
"""Between the parts of a detail that says several things."""

_PLACE: Final = re.compile(r"%\\\((\w+)\\\)s")  # as re.escape leaves it
_NESTED: Final = ("why",)  # where another form may stand: what people chose or wrote is looked up nowhere
_FREE: Final = ("why", "note")  # where a host's words may stand
_NAMED: Final = ("alert", "category", "title")


@register.filter
def detail_words(detail: str) -> str:
    """In the active language; what has no form comes as it is, marked as English, a host's words as the host's."""
    words = _filled_in(detail) if holds_host_words(detail) else _parts_filled_in(detail)
    return host_words_shown(detail) if words is None else words


def _parts_filled_in(detail: str) -> SafeString | None:
    parts = [_filled_in(part) for part in detail.split(JOINT)]
    return _filled_in(detail) if None in parts else mark_safe(JOINT.join(part for part in parts if part))  # noqa: S308  (escaped parts)


def _filled_in(detail: str) -> SafeString | None:
    for form, pattern in _patterns().items():
        if found := pattern.fullmatch(detail):
            if form == HOST_SAYS:
                return host_words_shown(detail)
            if any(holds_host_words(value) for name, value in found.groupdict().items() if name not in _FREE):
                continue  # the form was found inside what the host says
            values = {name: _value(name, value) for name, value in found.groupdict().items()}
            return mark_safe(gettext(form) % values)  # noqa: S308  (the values are escaped)
    return None


def _value(name: str, value: str) -> str:
    if name in _NAMED:
        return conditional_escape(str(_names().get(value, value)))
    words = _filled_in(value) if name in _NESTED else None
    return host_words_shown(value, otherwise=conditional_escape) if words is None else words


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {form: re.compile(_PLACE.sub(_place, re.escape(form.replace("%%", "%")))) for form in FORMS}


def _place(found: re.Match[str]) -> str:
    return "(?P<words>[^“”]+)" if found[1] == "words" else f"(?P<{found[1]}>.+?)"


@cache
def _names() -> Mapping[str, str | Promise]:
    """What may stand in a form and has words of its own."""
    labels = (*(each.label for each in MaintenanceCategory), *XID_TITLES)
    return {**TITLES, **{english_of(label): label for label in labels}}
