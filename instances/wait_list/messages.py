"""Texts about wait-list entries: why one failed, and mails in their user's language."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from common.ids import public_id
from common.mail import name_in_mail
from common.money import format_money
from instances.models import Watch
from instances.states import WatchState
from marketplace.gpu_catalogue.catalogue import by_slug

# Why an entry failed, by the code in `Watch.detail`.
REASONS: Final[dict[str, str | Promise]] = {
    "image_gone": gettext_lazy("The image is no longer available."),
    "keys_gone": gettext_lazy("An SSH key chosen for it is no longer in your account."),
    "account_closed": gettext_lazy("The account is closed."),
    "search_unreadable": gettext_lazy("The search is no longer valid."),
}


@dataclass(frozen=True)
class Mail:
    """Subject and body of one mail."""

    subject: str
    body: str


def reason_of(watch: Watch) -> str:
    """Return why the entry failed, in the reader's language; "" when it did not."""
    return str(REASONS.get(watch.detail, watch.detail))


def mail_of(watch: Watch) -> Mail:
    """Return the mail about the entry's end, in the language of the page on which it was created."""
    with override(watch.language):
        subject, sentences = _message(watch)
        return Mail(subject, "\n\n".join([*sentences, _("Search: %(line)s") % {"line": watch.line}, _address("watches")]))


def _message(watch: Watch) -> tuple[str, list[str]]:
    match watch.state:
        case WatchState.TOLD:
            return _told(watch)
        case WatchState.RENTED:
            return _rented(watch)
        case WatchState.EXPIRED:
            return _("Your waitlist entry has expired"), [
                _("No matching GPUs became available in time."),
                _("The held funds were released."),
            ]
        case _:
            return _("Your waitlist entry has ended"), [
                reason_of(watch),
                _("The held funds were released."),
            ]


def _told(watch: Watch) -> tuple[str, list[str]]:
    subject = _("GPUs you're waiting for are available")
    if watch.offer is None:
        return subject, [_("Check the market now. Nothing is reserved for you.")]
    # the host owner's own words
    host = {"host": name_in_mail(watch.offer.host.name), "region": name_in_mail(watch.offer.region)}
    gpu = {"gpu": by_slug(watch.offer.gpu_model).name, **host}
    free = _("%(gpu)s is available on %(host)s in %(region)s. It isn't reserved, so rent it soon.") % gpu
    return subject, [free, _address("offer", public_id("offr", watch.offer.pk))]


def _rented(watch: Watch) -> tuple[str, list[str]]:
    assert watch.instance is not None
    order = {"name": watch.instance.name, "rate": format_money(watch.instance.rate_micros_per_hour)}
    rented = _("%(name)s was rented for you at %(rate)s/hr. You're charged once it runs.") % order
    return _("Rented for you from the waitlist"), [rented, _address("instance", public_id("inst", watch.instance.pk))]


def _address(name: str, *words: str) -> str:
    return settings.SITE_URL + reverse(name, args=words)
