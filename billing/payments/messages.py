"""Mails to renters about their card."""

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from billing.models import PaymentProfile
from common.money import format_money


@dataclass(frozen=True)
class Mail:
    """Subject and text of one mail."""

    subject: str
    body: str


def auto_failure_mail(profile: PaymentProfile) -> Mail:
    """Return the mail about a refused automatic top-up.

    It is in the language of the page where the rule was saved.
    """
    with override(profile.language):
        amount = f"{format_money(profile.auto_amount_micros)} {settings.MARKET_CURRENCY}"
        card = {"amount": amount, "card": f"{profile.card_brand} •••• {profile.card_last4}".strip()}
        sentences = [
            _("Your balance is low. We tried to add %(amount)s from your saved card (%(card)s), but it was declined.")
            % card,
            _("The bank's message: %(failure)s") % {"failure": profile.auto_failure},
            _("We won't charge the card again until you save another card or turn auto top-up back on."),
            f"{settings.SITE_URL}{reverse('top_up')}",
        ]
        return Mail(_("Auto top-up failed"), "\n\n".join(sentences))
