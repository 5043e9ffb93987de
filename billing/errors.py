"""Domain errors of money, with texts that a person or a script can act on."""

from typing import Final

from django.utils.translation import gettext_noop as _

from common.errors import DomainError, TooOften
from common.money import format_money

TOO_LITTLE: Final = _("You need %(needed)s; available: %(spendable)s.")

GIFTS_STAY: Final = _("You can transfer at most %(most)s. Coupons and account credit can't be transferred.")
COMMITTED: Final = _("You can transfer at most %(most)s. The rest covers reserved terms that you pay by the hour.")
OWES: Final = _(
    "Your account has an unpaid debt, or one that shares your card or payout account does. Top up "
    "that account to repay it; you can order again once the debt is cleared. If a stranger entered "
    "your payout account before you did, the first payout to reach you there removes this "
    "restriction."
)


class InsufficientFunds(DomainError):
    code = "insufficient_funds"
    status = 402
    title = "The wallet doesn't have enough available funds"


def too_little(needed_micros: int, spendable_micros: int) -> InsufficientFunds:
    needed, spendable = format_money(needed_micros), format_money(spendable_micros)
    return InsufficientFunds(TOO_LITTLE % {"needed": needed, "spendable": spendable}, needed=needed, spendable=spendable)


class OwesMoney(InsufficientFunds):
    """Raised for an owner who owes money, also under another account of theirs.

    Orders and transfers are refused until the debt is paid.
    """

    code = "debt_unpaid"
    title = "An unpaid debt must be repaid first"


def owes_money() -> OwesMoney:
    return OwesMoney(OWES)


class NoOpenHold(DomainError):
    """Raised when a meter is to run without held money."""

    code = "no_open_hold"
    status = 409
    title = "There is no hold for this"


class LedgerIsAppendOnly(DomainError):
    code = "ledger_append_only"
    status = 409
    title = "Ledger rows can't be changed or deleted"


class StillMetered(DomainError):
    """Raised when the cost of a run is asked for before its meter is closed."""

    code = "still_metered"
    status = 409
    title = "This is still being metered"


class PaymentsOff(DomainError):
    """Raised when no Stripe key is configured: nothing can be charged."""

    code = "payments_off"
    status = 409
    title = "Card payments aren't available"


class StripeUnreachable(DomainError):
    """Raised when Stripe gives no usable answer.

    The requested effect may have happened: repeat the request with the same idempotency key.
    """

    code = "stripe_unreachable"
    status = 503
    title = "The payment service isn't responding; try again in a minute"


class StripeRefused(DomainError):
    """Raised when Stripe understood the request and refused it: repeating it changes nothing."""

    code = "stripe_refused"
    status = 409
    title = "The payment service declined the request"


class CardRefused(DomainError):
    """Raised when the card's bank refuses, or wants its holder to confirm in person."""

    code = "card_refused"
    status = 409
    title = "The card was declined"


class RefundRefused(DomainError):
    code = "refund_refused"
    status = 409
    title = "This can't be refunded"


class NoSavedCard(DomainError):
    code = "no_saved_card"
    status = 409
    title = "No saved card"


class PayoutAccountWaits(DomainError):
    """Raised for a payout to an account named less than three days ago.

    The delay gives the owner time to read their mail.
    """

    code = "payout_account_waits"
    status = 409
    title = "The payout account is new: payouts to it start a few days after it was added"


class TooManyCodes(TooOften):
    code = "too_many_codes"
    title = "Too many invalid codes: wait before you try another"


class NoPayoutAccount(DomainError):
    code = "no_payout_account"
    status = 409
    title = "No payout account was added yet"


class PayoutsFrozen(DomainError):
    code = "payouts_frozen"
    status = 409
    title = "Payouts of this account are frozen"


class PayoutAccountUnfinished(DomainError):
    """Raised when Stripe does not let the account receive money now.

    Nothing is sent that would come back.
    """

    code = "payout_account_unfinished"
    status = 409
    title = "Stripe can't pay this account yet"


class PayoutUnderWay(DomainError):
    """Raised when another payout is under way: its result decides what can be paid next."""

    code = "payout_under_way"
    status = 409
    title = "A payout is already in progress"


class NotPayable(DomainError):
    """Raised when less than the requested amount can be paid out, or nothing."""

    code = "not_payable"
    status = 409
    title = "This amount isn't available to pay out"


class CouponUnknown(DomainError):
    code = "coupon_unknown"
    status = 404
    title = "This coupon code doesn't exist"


class CouponWithdrawn(DomainError):
    code = "coupon_withdrawn"
    status = 409
    title = "This code has been withdrawn"


class CouponExpired(DomainError):
    code = "coupon_expired"
    status = 409
    title = "This code has expired"


class CouponRedeemed(DomainError):
    code = "coupon_redeemed"
    status = 409
    title = "You've reached the limit per person for this code"


class CouponGone(DomainError):
    code = "coupon_gone"
    status = 409
    title = "This code has been fully redeemed"


class AlreadyCorrected(DomainError):
    code = "already_corrected"
    status = 409
    title = "This invoice was already corrected"


class BudgetExceeded(InsufficientFunds):
    """Raised when the wallet could pay but a hard budget does not allow it."""

    code = "budget_exceeded"
    title = "This would exceed a budget"


class BudgetExists(DomainError):
    code = "budget_exists"
    status = 409
    title = "This budget already exists: change its limit instead"


class NotTransferable(DomainError):
    code = "not_transferable"
    status = 409
    title = "These funds can't be transferred"


class GrantRefused(DomainError):
    """Raised when a large grant lacks its second person, or is settled already."""

    code = "grant_refused"
    status = 409
    title = "This grant can't be processed like that"
