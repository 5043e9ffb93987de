"""Money: wallets, double-entry postings, holds, meters; payments, coupons, papers, limits and payouts."""

from billing.models.coupons import Coupon, CouponCode, CouponDraw
from billing.models.ledger import AppendOnly, Entry, Posting, TsTzRange, Wallet
from billing.models.limits import Budget, Notice, Standing
from billing.models.metering import Hold, Meter, Usage
from billing.models.papers import BillingAddress, Invoice, InvoiceSeries, Order
from billing.models.payments import Dispute, Payment, PaymentProfile, Reconciliation, Refund, StripeEvent
from billing.models.payouts import Payout, PayoutAccount, PayoutMethod
from billing.models.proof import LedgerAudit, Seal

__all__ = [
    "AppendOnly",
    "BillingAddress",
    "Budget",
    "Coupon",
    "CouponCode",
    "CouponDraw",
    "Dispute",
    "Entry",
    "Hold",
    "Invoice",
    "InvoiceSeries",
    "LedgerAudit",
    "Meter",
    "Notice",
    "Order",
    "Payment",
    "PaymentProfile",
    "Payout",
    "PayoutAccount",
    "PayoutMethod",
    "Posting",
    "Reconciliation",
    "Refund",
    "Seal",
    "Standing",
    "StripeEvent",
    "TsTzRange",
    "Usage",
    "Wallet",
]
