"""Labels of the admin pages say plainly what each field holds."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0027_plain_labels")]

    operations: ClassVar = [
        NameModels(
            fields={
                "budget": {"hard": "hard limit, stops instances"},
                "coupon": {"waits_for_top_up": "awaiting a top-up", "remaining_micros": "remaining (micro-units)"},
                "couponcode": {
                    "most_micros": "maximum (micro-units)",
                    "per_user": "uses per account",
                    "total_limit": "total uses",
                    "redeemed": "times redeemed",
                    "active": "enabled",
                    "waits": "awaiting a second approval",
                },
                "coupondraw": {
                    "drawn_micros": "charged to the coupon (micro-units)",
                    "seen_micros": "counted (micro-units)",
                },
                "dispute": {"stripe_id": "Stripe ID"},
                "ledgeraudit": {"asked_by": "requested by"},
                "meter": {
                    "calendar": "billed by calendar time",
                    "rate_hours": "hours per rate unit",
                    "most_micros": "maximum (micro-units)",
                    "base_us": "metering start (µs)",
                },
                "payment": {
                    "session_id": "Stripe checkout ID",
                    "intent_id": "Stripe payment intent ID",
                    "charge_id": "Stripe charge ID",
                },
                "paymentprofile": {
                    "customer_id": "Stripe customer ID",
                    "card_id": "Stripe payment method ID",
                    "card_brand": "card brand",
                    "card_last4": "last four digits",
                    "auto_threshold_micros": "top-up threshold (micro-units)",
                    "auto_monthly_cap_micros": "monthly top-up limit (micro-units)",
                    "auto_tried_at": "last top-up attempt",
                    "auto_failure": "top-up failure",
                    "auto_told_at": "top-up notification sent at",
                },
                "payout": {"method": "payout method", "requested_by": "requested by"},
                "payoutaccount": {
                    "method": "payout method",
                    "stripe_account_id": "Stripe account ID",
                    "minimum_micros": "minimum payout (micro-units)",
                    "automatic": "weekly payouts",
                    "frozen_reason": "reason for the freeze",
                },
                "reconciliation": {"requested_by": "requested by", "seen": "reconciled", "healed": "repaired"},
                "refund": {"stripe_id": "Stripe ID"},
                "seal": {"after": "previous row", "usage_rows": "usage records", "body": "sealed content"},
                "stripeevent": {"object_id": "Stripe object ID", "tries": "attempts", "retry_at": "next attempt at"},
            },
            names={
                "coupondraw": ("coupon use", "coupon uses"),
                "moneyfreeze": ("money freeze", "money freezes"),
                "tie": ("account link", "account links"),
                "usage": ("usage record", "usage records"),
            },
            choices={
                "budget": {"period": [("month", "monthly"), ("total", "in total")]},
                "couponcode": {"kind": [("fixed", "fixed amount"), ("percent", "percentage of a top-up")]},
                "entry": {
                    "kind": [
                        ("charge", "charge"),
                        ("host_share", "host's share"),
                        ("platform_fee", "platform fee"),
                        ("credit", "credit"),
                        ("refund", "refund"),
                        ("funding", "funding"),
                        ("top_up", "top-up"),
                        ("card_refund", "refund to the card"),
                        ("dispute", "dispute"),
                        ("coupon", "coupon"),
                        ("bonus", "used bonus of a refunded top-up"),
                        ("prepaid", "reserved term"),
                        ("exit_fee", "early termination"),
                        ("transfer", "transfer"),
                        ("payout", "payout"),
                        ("loss", "loss"),
                        ("repayment", "repayment"),
                    ]
                },
                "grant": {
                    "state": [
                        ("pending", "awaiting a second approval"),
                        ("posted", "granted"),
                        ("declined", "declined"),
                    ]
                },
                "notice": {
                    "kind": [
                        ("low", "running low"),
                        ("exhausted", "exhausted"),
                        ("release", "data about to be deleted"),
                        ("budget", "budget"),
                    ]
                },
                "order": {
                    "kind": [
                        ("rent", "rent"),
                        ("start", "start"),
                        ("term", "reserved term"),
                        ("renewal", "renewal"),
                        ("conversion", "billing mode change"),
                        ("early_end", "early termination"),
                        ("top_up", "top-up"),
                        ("coupon", "coupon"),
                    ]
                },
                "wallet": {
                    "kind": [
                        ("renter", "renter"),
                        ("host", "host earnings"),
                        ("coupon", "coupons"),
                        ("debt", "debt"),
                        ("platform", "platform fees"),
                        ("funding", "external funds"),
                        ("stripe", "Stripe"),
                        ("bank", "payouts"),
                        ("escrow", "prepaid terms"),
                        ("losses", "losses"),
                        ("gifts", "coupons granted"),
                    ]
                },
            },
            help_texts={
                "ledgeraudit": {
                    "seal_number": "Empty until the first seal.",
                    "grants": "Credits granted since the previous check.",
                    "findings": "The first findings: code, subject, detail, expected condition.",
                }
            },
        )
    ]
