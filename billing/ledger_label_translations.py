"""Translations of labels and memos of the ledger, and of Stripe's messages about cards.

Rows of the ledger never change, and seals cover their text, so the English text is stored. A text in one of these
forms is translated when a page shows it; any other text, such as one that a person entered, is shown unchanged.
"""

import re
from typing import Final

from django import template
from django.utils.translation import gettext_lazy as _

from common.messages.message import Words

register = template.Library()

_FORMS: Final[tuple[tuple[str, Words], ...]] = (
    (r"Data disk", _("Data disk")),
    (r"Your card was declined\.", _("Your card was declined.")),
    (r"Your card has insufficient funds\.", _("Your card has insufficient funds.")),
    (r"Your card has expired\.", _("Your card has expired.")),
    (r"Your card's security code is incorrect\.", _("Your card's security code is incorrect.")),
    (r"The card could not be charged\.", _("The card couldn't be charged.")),
    (
        r"The bank wants the card's holder to confirm this payment\.",
        _("The card issuer requires confirmation by the cardholder."),
    ),
    (r"The card needs its holder's confirmation\.", _("The card issuer requires confirmation by the cardholder.")),
    (r"Top-up by card", _("Top-up by card")),
    (r"asked for by the renter", _("requested by the renter")),
    (
        r"(?P<name>.*): data kept (?P<days>\d+) days longer, up to (?P<fee>[\d.]+)",
        _("%(name)s: data kept %(days)s days longer, up to %(fee)s"),
    ),
    (r"(?P<what>.*): ended early", _("%(what)s: ended early")),
    (r"(?P<code>\S+): (?P<percent>[\d.]+) % of the next top-up", _("%(code)s: %(percent)s%% of the next top-up")),
    (r"Refund to the card", _("Refund to the card")),
    (r"Payment disputed by the cardholder", _("Payment disputed by the cardholder")),
    (r"What was owed, repaid", _("Debt repaid")),
    (r"Payout to bank", _("Payout to bank account")),
    (r"Payout to stripe", _("Payout through Stripe")),
    (r"Payout came back: (?P<why>.*)", _("Payout returned: %(why)s")),
    (r"Coupon (?P<code>\S+)", _("Coupon %(code)s")),
    (r"Coupon (?P<code>\S+) redeemed", _("Coupon %(code)s redeemed")),
    (r"Coupon (?P<code>\S+): not used", _("Coupon %(code)s: not used")),
    (r"Coupon (?P<code>\S+): expired", _("Coupon %(code)s: expired")),
    (r"Coupon (?P<code>\S+): the top-up changed", _("Coupon %(code)s: the top-up changed")),
    (r"Volume (?P<name>.*), (?P<size>\d+) GB", _("Volume %(name)s, %(size)s GB")),
    (r"Snapshot (?P<name>.*), (?P<size>[\d.]+) GB stored", _("Snapshot %(name)s, %(size)s GB stored")),
    (r"(?P<name>.*): without a GPU", _("%(name)s: without GPU")),
    (r"(?P<what>.*), kept while stopped", _("%(what)s, kept while stopped")),
    (r"(?P<what>.*), reserved", _("%(what)s, reserved")),
    (r"(?P<what>.*), reserved for (?P<length>.*)", _("%(what)s, reserved for %(length)s")),
    (
        r"(?P<what>.*), reserved: (?P<hours>\d+) h at \d+ × the price of the term, paid upfront",
        _("%(what)s, reserved: %(hours)s h, paid upfront"),
    ),
    (
        r"(?P<name>.*): data disk, (?P<size>\d+) GB above the free (?P<free>\d+)",
        _("%(name)s: data disk, %(size)s GB above the free %(free)s GB"),
    ),
    (r"(?P<name>.*): (?P<size>\d+) GB kept after the free time", _("%(name)s: %(size)s GB kept beyond the free period")),
    (r"(?P<what>.*): given back, its host did not report", _("%(what)s: refunded because the host didn't report")),
    (r"(?P<what>.*): given back, its host was written off", _("%(what)s: refunded because the host was written off")),
)
_KNOWN: Final = tuple((re.compile(form, re.DOTALL), words) for form, words in _FORMS)


@register.filter
def ledger_label(text: str) -> str:
    """Return a label or memo in the active language, or unchanged if its form is unknown."""
    for form, words in _KNOWN:
        if found := form.fullmatch(text):
            return str(words) % found.groupdict()
    return text
