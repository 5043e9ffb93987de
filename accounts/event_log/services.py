"""Log of an account, written for its owner in the transaction of the event."""

from typing import Final
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.constants import EVENT_KINDS, FORMER_ADDRESS_TOLD, MAILED_KINDS
from accounts.device_names import device_name
from accounts.event_log.messages import title_of
from accounts.mail.outbox import queue_mail
from accounts.models import AccountEvent, User
from common import clock
from common.http.origin import origin
from common.mail import name_in_mail, one_line

_SUBJECT_CHARS: Final = 200
_VIA_CHARS: Final = 40
_NAMED_CHARS: Final = 100


def record_event(*, user_id: UUID | None, kind: str, subject: str = "") -> AccountEvent:
    """Record an event in the caller's transaction, and mail the owner about urgent kinds."""
    assert kind in EVENT_KINDS, kind
    current = origin()
    event = AccountEvent.objects.create(
        user_id=user_id,
        kind=kind,
        subject=one_line(subject, most=_SUBJECT_CHARS),
        via=current.via[:_VIA_CHARS],
        address=current.address or None,
        agent=current.agent,
        at=clock.now(),
    )
    if kind in MAILED_KINDS and user_id is not None:
        _mail_owner(User.objects.get(pk=user_id), event)
    return event


def addresses_of(user: User) -> list[str]:
    """Return the owner's present address, and those that were replaced in the last days.

    Whoever takes an account over changes its address first; the owner must be notified of later events all the
    same.
    """
    lately = AccountEvent.objects.filter(user=user, kind="email.changed", at__gt=clock.now() - FORMER_ADDRESS_TOLD)
    return list(dict.fromkeys([user.email, *lately.order_by("-at").values_list("subject", flat=True)]))


def _mail_owner(user: User, event: AccountEvent) -> None:
    with override(user.language):
        facts = {
            "what": title_of(event.kind),
            "subject": name_in_mail(event.subject, most=_NAMED_CHARS),
            "at": f"{event.at:%Y-%m-%d %H:%M} UTC",
            "address": event.address or "–",
            "agent": name_in_mail(device_name(event.agent), most=_NAMED_CHARS),
        }
        sentences = [
            _("%(what)s: %(subject)s") % facts if event.subject else str(facts["what"]),
            _("%(at)s, from %(address)s, using %(agent)s.") % facts,
            _(
                "If this was you, you don't need to do anything. If it wasn't, change your password, "
                "sign out everywhere else and check your account log:"
            ),
            settings.SITE_URL + reverse("account_events"),
        ]
        subject = _("Your account: %(what)s") % facts
    for number, address in enumerate(addresses_of(user)):
        queue_mail(to=address, subject=subject, body="\n\n".join(sentences), key=f"event:{event.pk.hex}:{number}")
