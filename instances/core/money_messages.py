"""What events say of money, billing modes and bids. `common.messages` says how messages are kept and worded."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from billing.errors import InsufficientFunds
from common.errors import DomainError, InvalidInput
from common.messages.message import Message, Micros, Second, Words
from common.money import parse_money
from common.refusals import refused
from marketplace.search.messages import MODE_LABELS

# -- money


class TooLittle(Message, code="too_little", text=_("You need %(needed)s; available: %(spendable)s.")):
    needed: Micros
    spendable: Micros


class Unpaid(
    Message,
    code="unpaid",
    text=_("Your wallet can't pay for another hour. Data is kept: top up and start the instance again."),
):
    pass


class BudgetReached(
    Message, code="budget_reached", text=_("The budget “%(budget)s” doesn't cover another hour. Data is kept.")
):
    budget: str


class Disputed(
    Message,
    code="payment_disputed",
    text=_(
        "The bank disputes one of your card payments. Spot instances are stopped until this is decided; their data is kept."
    ),
):
    pass


class TakenBack(
    Message,
    code="payment_taken_back",
    text=_("The bank reversed a card payment that paid for this instance. Data is kept: start it again with other funds."),
):
    pass


class Refunded(Message, code="refunded", text="%(amount)s"):
    amount: Micros


class DataKept(
    Message,
    code="data_kept",
    text=ngettext_lazy(
        "%(days)s day for up to %(fee)s, until %(at)s",
        "%(days)s days for up to %(fee)s, until %(at)s",
        "days",
    ),
):
    days: int
    fee: Micros
    at: datetime


# -- billing modes and terms


class ModeChanged(Message, code="mode_changed", text="%(before_words)s → %(after_words)s"):
    before: str
    after: str

    def named(self) -> Mapping[str, Words]:
        return {
            "before_words": MODE_LABELS.get(self.before, self.before),
            "after_words": MODE_LABELS.get(self.after, self.after),
        }


class TermOver(Message, code="term_over", text=_("Ended at %(at)s")):
    at: datetime


class TermRenewed(Message, code="term_renewed", text=_("Until %(at)s")):
    at: datetime


# -- spot


class Outbid(
    Message,
    code="outbid",
    text=_(
        "Other bids are higher, or an on-demand order needs these GPUs. The instance continues automatically when it gets"
        " GPUs again."
    ),
):
    pass


class SilentHost(
    Message,
    code="silent_host",
    text=_("The host isn't responding. You'll get a new notice once it reports again, if one is needed."),
):
    pass


class BidUnpaid(Message, code="bid_unpaid", text=_("%(why)s Data is kept: top up and start the instance again.")):
    why: Message


class BidBarred(
    Message,
    code="bid_barred",
    text=_("This account is now linked to the host's owner, so it can't bid here. Data is kept: rent on demand instead."),
):
    pass


class Interruption(Message, code="interruption", text=_("GPUs go to another renter at %(at)s. The data disk is kept.")):
    at: Second


class BidChanged(Message, code="bid_changed", text=_("%(before)s → %(after)s per GPU-hour")):
    before: Micros
    after: Micros


def refusal(error: DomainError) -> Message:
    """Why the market did not do what was due."""
    if isinstance(error, InsufficientFunds) and {"needed", "spendable"} <= error.extra.keys():
        with suppress(InvalidInput):  # an amount beyond what money is read up to
            needed, spendable = (parse_money(str(error.extra[name])) for name in ("needed", "spendable"))
            return TooLittle(needed=Micros(needed), spendable=Micros(spendable))
    return refused(error)
