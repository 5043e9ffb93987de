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
from common.money import format_money, with_sign


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
        _("You have %(amount)s left. At the current rate it runs out at about %(at)s.") % facts,
        _("When funds run out, instances are stopped at the end of the last paid hour."),
        _("Data is kept for 30 days after the stop. Top up before the stop to avoid it."),
    ]
    return _("Your balance is low"), sentences, reverse("wallet")


def _exhausted(notice: Notice) -> tuple[str, list[str], str]:
    sentences = [_("Your wallet couldn't cover another hour, so your instances were stopped.")]
    if notice.ends_at is not None:
        sentences.append(_("Your data is kept. The earliest deletion is at %(at)s.") % {"at": moment(notice.ends_at)})
    sentences.append(_("Top up and start them again to cancel the deletion."))
    return _("Your instances were stopped: out of funds"), sentences, reverse("wallet")


def _release(notice: Notice) -> tuple[str, list[str], str]:
    if notice.facts.get("of"):
        return _storage(notice)
    facts = {"name": notice.facts["name"], "at": moment(notice.ends_at)}
    sentences = [
        _("%(name)s is stopped. Its data will be permanently deleted at %(at)s.") % facts,
        _("To keep the data, start the instance before then. To copy it, start the instance and download what you need."),
        _("You can also extend retention for a fee; see the instance's page."),
    ]
    return _("%(name)s: data will be deleted at %(at)s") % facts, sentences, _address(notice)


def _storage(notice: Notice) -> tuple[str, list[str], str]:
    """Return the text about a volume or snapshot that nobody pays for."""
    facts = {"name": notice.facts["name"], "at": moment(notice.ends_at)}
    is_volume = notice.facts["of"] == "volume"
    sentences = [
        _("%(name)s is unpaid. It will be permanently deleted at %(at)s.") % facts,
        _("Top up before then to resume billing and cancel the deletion."),
    ]
    return _("%(name)s will be deleted at %(at)s") % facts, sentences, reverse("volumes" if is_volume else "snapshots")


def _budget(notice: Notice) -> tuple[str, list[str], str]:
    facts = notice.facts
    named = {
        "name": name_in_mail(facts["name"]),  # the name of a member or a team, typed by somebody else
        "percent": facts["percent"],
        "spent": money(facts["spent_micros"]),
        "limit": money(facts["limit_micros"]),
    }
    sentences = [_("%(name)s: %(spent)s of %(limit)s spent (%(percent)s%%).") % named]
    if facts["hard"]:
        sentences.append(
            _("This budget is a hard limit: the instances it covers are stopped before it is exceeded. Data is kept.")
        )
    else:
        sentences.append(_("This budget only sends alerts. Nothing is stopped."))
    return _("Budget %(name)s: %(percent)s%% spent") % named, sentences, reverse("budgets")


def _address(notice: Notice) -> str:
    assert notice.subject_id is not None
    return reverse("instance", args=[public_id("inst", notice.subject_id)])


def moment(at: datetime | None) -> str:
    """Return a time with its zone, since a mail does not know the reader's."""
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def money(micros: int) -> str:
    return with_sign(format_money(micros))


_WORDS = {
    Notice.Kind.LOW.value: _low,
    Notice.Kind.EXHAUSTED.value: _exhausted,
    Notice.Kind.RELEASE.value: _release,
    Notice.Kind.BUDGET.value: _budget,
}
