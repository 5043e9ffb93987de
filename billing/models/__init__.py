"""Tables of billing: the ledger, meters, holds, payments, coupons, invoices, budgets and payouts."""

from billing.models.account_links import AccountLink
from billing.models.budgets import Budget, Notice, Standing
from billing.models.coupons import Coupon, CouponCode, CouponDraw
from billing.models.invoices import BillingAddress, Invoice, InvoiceSeries, Order
from billing.models.ledger import AppendOnly, Entry, Grant, LedgerCurrency, Posting, TsTzRange, Wallet
from billing.models.ledger_seals import LedgerAudit, Record, Seal
from billing.models.metering import Commitment, Hold, Meter, Usage
from billing.models.payments import Dispute, MoneyFreeze, Payment, PaymentProfile, Reconciliation, Refund, StripeEvent
from billing.models.payouts import ConnectedAccount, Holdback, Payout, PayoutAccount, PayoutMethod

__all__ = [
    "AccountLink",
    "AppendOnly",
    "BillingAddress",
    "Budget",
    "Commitment",
    "ConnectedAccount",
    "Coupon",
    "CouponCode",
    "CouponDraw",
    "Dispute",
    "Entry",
    "Grant",
    "Hold",
    "Holdback",
    "Invoice",
    "InvoiceSeries",
    "LedgerAudit",
    "LedgerCurrency",
    "Meter",
    "MoneyFreeze",
    "Notice",
    "Order",
    "Payment",
    "PaymentProfile",
    "Payout",
    "PayoutAccount",
    "PayoutMethod",
    "Posting",
    "Reconciliation",
    "Record",
    "Refund",
    "Seal",
    "Standing",
    "StripeEvent",
    "TsTzRange",
    "Usage",
    "Wallet",
]
