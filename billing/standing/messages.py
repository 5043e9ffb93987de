"""Texts of mails about money: wallet standing, data about to be deleted, budgets."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from billing.models import Notice
from common.ids import public_id
from common.mail import name_in_mail
from common.money import format_money


@dataclass(frozen=True)
class NoticeMail:
    """Subject and text of one mail."""

    subject: str
    body: str


def mail_of(notice: Notice) -> NoticeMail:
    """Return a notice's mail in the language in which its person last read the pages."""
    with override(notice.person.language):
        subject, sentences, address = _WORDS[notice.kind](notice)
        return NoticeMail(subject, "\n\n".join([*sentences, f"{settings.SITE_URL}{address}"]))


def _low(notice: Notice) -> tuple[str, list[str], str]:
    facts = {"amount": money(notice.facts["left_micros"]), "at": moment(notice.ends_at)}
    sentences = [
        _("Your wallet has %(amount)s left. What runs now uses that up until about %(at)s.") % facts,
        _("When an hour cannot be paid any more, instances are stopped at the end of the last hour that was paid."),
        _("Their data is kept for 30 days after that. Add money before then and nothing stops."),
    ]
    return _("Your wallet is running low"), sentences, reverse("wallet")


def _exhausted(notice: Notice) -> tuple[str, list[str], str]:
    sentences = [_("Your wallet could not pay for another hour, so instances of yours were stopped.")]
    if notice.ends_at is not None:
        sentences.append(
            _("Their data is kept. The first of it is released at %(at)s, not before.") % {"at": moment(notice.ends_at)}
        )
    sentences.append(_("Add money and start them again; then the date falls away."))
    return _("Your instances were stopped: the wallet is exhausted"), sentences, reverse("wallet")


def _release(notice: Notice) -> tuple[str, list[str], str]:
    if notice.facts.get("of"):
        return _storage(notice)
    facts = {"name": notice.facts["name"], "at": moment(notice.ends_at)}
    sentences = [
        _("%(name)s is stopped. Its data is released at %(at)s and cannot be brought back after that.") % facts,
        _("To keep it, start the instance before that moment; to copy it, start it and download what you need."),
        _("You can also extend the date for a fee: the instance's page says how much."),
    ]
    return _("Data of %(name)s is released at %(at)s") % facts, sentences, _address(notice)


def _storage(notice: Notice) -> tuple[str, list[str], str]:
    """Return the text about a volume or snapshot that nobody pays for."""
    facts = {"name": notice.facts["name"], "at": moment(notice.ends_at)}
    is_volume = notice.facts["of"] == "volume"
    sentences = [
        _("Nobody pays for %(name)s. It is deleted at %(at)s and cannot be brought back after that.") % facts,
        _("Add money before then: it is charged again from that moment on, and the date falls away."),
    ]
    return _("%(name)s is deleted at %(at)s") % facts, sentences, reverse("volumes" if is_volume else "snapshots")


def _budget(notice: Notice) -> tuple[str, list[str], str]:
    facts = notice.facts
    named = {
        "name": name_in_mail(facts["name"]),  # the name of a member or a team, typed by somebody else
        "percent": facts["percent"],
        "spent": money(facts["spent_micros"]),
        "limit": money(facts["limit_micros"]),
    }
    sentences = [_("%(name)s: %(spent)s of %(limit)s are spent (%(percent)s %%).") % named]
    if facts["hard"]:
        sentences.append(_("The budget is a hard one: before it is passed, what it covers is stopped. Data is kept."))
    else:
        sentences.append(_("The budget only tells you: nothing is stopped."))
    return _("Budget %(name)s: %(percent)s %% spent") % named, sentences, reverse("budgets")


def _address(notice: Notice) -> str:
    assert notice.subject_id is not None
    return reverse("instance", args=[public_id("inst", notice.subject_id)])


def moment(at: datetime | None) -> str:
    """Return a time with its zone, since a mail does not know the reader's."""
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def money(micros: int) -> str:
    return f"{format_money(micros)} {settings.MARKET_CURRENCY}"


_WORDS = {
    Notice.Kind.LOW.value: _low,
    Notice.Kind.EXHAUSTED.value: _exhausted,
    Notice.Kind.RELEASE.value: _release,
    Notice.Kind.BUDGET.value: _budget,
}
