"""State machines of payments, refunds, disputes, payouts and wallet standings.

`docs/lifecycles.md` is printed from them.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.transitions import Machine


class PaymentState(models.TextChoices):
    PENDING = "pending", _("pending")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    EXPIRED = "expired", _("expired")


class RefundState(models.TextChoices):
    PENDING = "pending", _("pending")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")


class DisputeState(models.TextChoices):
    OPEN = "open", _("open")
    WON = "won", _("won")
    LOST = "lost", _("lost")


class PayoutState(models.TextChoices):
    PENDING = "pending", _("pending")  # the money has left the earnings, and nothing has been sent yet
    SENT = "sent", _("sent")
    PAID = "paid", _("paid")
    FAILED = "failed", _("failed")  # the money is back in the earnings


class StandingState(models.TextChoices):
    GOOD = "good", _("in good standing")
    LOW = "low", _("running low")
    EXHAUSTED = "exhausted", _("exhausted")


P, R, D, OUT, T = PaymentState, RefundState, DisputeState, PayoutState, StandingState

PAYMENT_MACHINE = Machine(
    name="payment",
    initial=P.PENDING,
    final=frozenset({P.SUCCEEDED}),
    table={
        # Stripe's messages arrive in any order: a payment that failed or expired here may still turn out to
        # be paid.
        P.PENDING: frozenset({P.SUCCEEDED, P.FAILED, P.EXPIRED}),
        P.FAILED: frozenset({P.SUCCEEDED}),
        P.EXPIRED: frozenset({P.SUCCEEDED}),
        P.SUCCEEDED: frozenset(),
    },
)

REFUND_MACHINE = Machine(
    name="refund",
    initial=R.PENDING,
    final=frozenset({R.SUCCEEDED, R.FAILED}),
    table={R.PENDING: frozenset({R.SUCCEEDED, R.FAILED}), R.SUCCEEDED: frozenset({R.FAILED}), R.FAILED: frozenset()},
)

DISPUTE_MACHINE = Machine(
    name="dispute",
    initial=D.OPEN,
    final=frozenset({D.WON}),
    table={
        D.OPEN: frozenset({D.WON, D.LOST}),
        D.WON: frozenset(),
        D.LOST: frozenset({D.WON}),  # by an appeal
    },
)

PAYOUT_MACHINE = Machine(
    name="payout",
    initial=OUT.PENDING,
    final=frozenset({OUT.PAID, OUT.FAILED}),
    table={
        OUT.PENDING: frozenset({OUT.SENT, OUT.PAID, OUT.FAILED}),
        OUT.SENT: frozenset({OUT.PAID, OUT.FAILED}),
        OUT.PAID: frozenset({OUT.FAILED}),  # a bank may send it back days later
        OUT.FAILED: frozenset(),
    },
)

STANDING_MACHINE = Machine(
    name="standing",
    initial=T.GOOD,
    table={
        T.GOOD: frozenset({T.LOW, T.EXHAUSTED}),
        T.LOW: frozenset({T.GOOD, T.EXHAUSTED}),
        T.EXHAUSTED: frozenset({T.GOOD, T.LOW}),
    },
)
