"""Faults in money: prices, holds, charges, refunds, payouts, spot prices, webhooks of the card processor."""

from typing import Final

from tests.seeded_faults.fault import Fault

_RATES: Final = "billing/pricing/rates.py"
_PRICING: Final = ("tests/billing/pricing/test_pricing.py",)
_METERS: Final = ("tests/billing/metering/test_meters.py",)
_AUCTION: Final = ("tests/marketplace/spot_market/test_spot_market.py",)

FAULTS: Final = (
    Fault(
        name="money: each cut of a charge is rounded by itself",
        path=_RATES,
        old="return cost(tariff, to_us) - cost(tariff, from_us)",
        new="return cost(tariff, to_us - from_us)",
        tests=_PRICING,
    ),
    Fault(
        name="money: the fee is rounded down",
        path=_RATES,
        old="fee = divide_half_up(charge_micros * fee_bps, _BPS)",
        new="fee = charge_micros * fee_bps // _BPS",
        tests=_PRICING,
    ),
    Fault(
        name="money: the host gets the whole charge",
        path=_RATES,
        old="return fee, charge_micros - fee",
        new="return fee, charge_micros",
        tests=_PRICING,
    ),
    Fault(
        name="money: a tier begins one microsecond late",
        path="billing/pricing/tariffs.py",
        old="if begins_us <= used_us), self.rate_micros)",
        new="if begins_us < used_us), self.rate_micros)",
        tests=_PRICING,
    ),
    Fault(
        name="money: a hold is rounded down",
        path=_RATES,
        old="return -(-_numerator(tariff.worst, hours * HOUR_US) // (tariff.hours * HOUR_US))",
        new="return _numerator(tariff.worst, hours * HOUR_US) // (tariff.hours * HOUR_US)",
        tests=_PRICING,
    ),
    Fault(
        name="money: an early end costs more than the whole term",
        path=_RATES,
        old="min(divide_half_up(anew, unit_micros * _BPS), total_micros))",
        new="divide_half_up(anew, unit_micros * _BPS))",
        tests=_PRICING,
    ),
    Fault(
        name="money: an early end costs less than what was charged",
        path=_RATES,
        old="return max(charged_micros, min(divide_half_up(anew, unit_micros * _BPS), total_micros))",
        new="return min(divide_half_up(anew, unit_micros * _BPS), total_micros)",
        tests=_PRICING,
    ),
    Fault(
        name="money: a deposit exceeds the term",
        path=_RATES,
        old="return min(DEPOSIT_HOURS * rate_micros, total_micros)",
        new="return DEPOSIT_HOURS * rate_micros",
        tests=_PRICING,
    ),
    Fault(
        name="money: the reserve of payouts is rounded down",
        path="billing/payouts/payable_balance.py",
        old="return -(-max(0, self.recent_micros) * PAYOUT_RESERVE_BPS // _BPS)",
        new="return max(0, self.recent_micros) * PAYOUT_RESERVE_BPS // _BPS",
        tests=("tests/billing/payouts/test_payable.py",),
    ),
    Fault(
        name="money: what renters owe can be paid out",
        path="billing/payouts/payable_balance.py",
        old="self.waiting_micros + self.reserve_micros + self.disputed_micros + self.unpaid_micros",
        new="self.waiting_micros + self.reserve_micros + self.unpaid_micros",
        tests=("tests/billing/payouts/test_payable.py",),
    ),
    Fault(
        name="money: a gap in the reports is charged",
        path="billing/metering/meters.py",
        old="    bridge_from = at - (PROOF_BRIDGE if bridge is None else bridge)\n",
        new="    bridge_from = at - 10 * (PROOF_BRIDGE if bridge is None else bridge)\n",
        tests=_METERS,
    ),
    Fault(
        name="money: the latest cap of a meter counts",
        path="billing/metering/meters.py",
        old='capped_at=Least(F("capped_at"), Greatest(F("settled_until"), at))',
        new='capped_at=Greatest(F("capped_at"), F("settled_until"), at)',
        tests=_METERS,
    ),
    Fault(
        name="money: what a stop takes beyond its grace is charged",
        path="instances/lifecycle/stop.py",
        old="    cap_use(instance)\n",
        new="",
        tests=("tests/instances/lifecycle/test_start_and_stop.py",),
    ),
    Fault(
        name="money: a hold takes what other holds have",
        path="billing/metering/holds.py",
        old="if wallet.spendable_micros < needed:",
        new="if wallet.balance_micros < needed:",
        tests=("tests/billing/metering/test_holds.py",),
    ),
    Fault(
        name="money: a hold is not given back",
        path="billing/metering/holds.py",
        old='update(held_micros=F("held_micros") - hold.amount_micros)',
        new='update(held_micros=F("held_micros"))',
        tests=("tests/billing/metering/test_holds.py",),
    ),
    Fault(
        name="money: a posting is written twice",
        path="billing/ledger/postings.py",
        old="    if Posting.objects.filter(idempotency_key=key).exists():\n        return False\n",
        new='    key = key if not Posting.objects.filter(idempotency_key=key).exists() else f"{key}:again"\n',
        tests=("tests/billing/ledger/test_postings.py",),
    ),
    Fault(
        name="money: a refund exceeds what is unspent",
        path="billing/payments/refunds.py",
        old="    if amount_micros > most:\n",
        new="    if amount_micros > payment.amount_micros:\n",
        tests=("tests/billing/payments/test_refunds.py::test_fault_079_parts_never_exceed_the_payment",),
    ),
    Fault(
        name="money: a refund whose answer was lost is sent again",
        path="billing/payments/refunds.py",
        old="remote = known[0] if known else _request_refund(refund, intent_id)",
        new="remote = _request_refund(refund, intent_id)",
        tests=("tests/billing/payments/test_refunds.py::test_fault_076_an_answer_that_was_lost_makes_no_second_refund",),
    ),
    Fault(
        name="money: a credit for a fault is given twice",
        path="billing/metering/host_fault_credits.py",
        old="    since = max(since, _credited_until(sources, since, until))\n",
        new="",
        tests=("tests/billing/metering/test_host_fault_credits.py",),
    ),
    Fault(
        name="money: a spot rent pays its own bid",
        path="marketplace/spot_market/clearing.py",
        old="return min(price_on(bid, losers, floor), bid.max_micros)",
        new="return max(price_on(bid, losers, floor), bid.max_micros)",
        tests=_AUCTION,
    ),
    Fault(
        name="money: of equal bids the later wins",
        path="marketplace/spot_market/clearing.py",
        old="return -self.max_micros, self.placed_at, str(self.key)",
        new="return -self.max_micros, str(self.key), self.placed_at",
        tests=_AUCTION,
    ),
    Fault(
        name="money: an unpaid bid moves the spot price",
        path="marketplace/spot_market/clearing.py",
        old="if bid.key not in won and bid.backed]",
        new="if bid.key not in won]",
        tests=_AUCTION,
    ),
    Fault(
        name="money: an old message of the card processor counts",
        path="billing/stripe/signatures.py",
        old="if abs(now_s - signed_at) > TOLERANCE_S:",
        new="if signed_at - now_s > TOLERANCE_S:",
        tests=("tests/billing/payments/test_webhooks.py::test_fault_073_a_signature_is_good_for_five_minutes",),
    ),
    Fault(
        name="money: any signature of the card processor will do",
        path="billing/stripe/signatures.py",
        old="    if not any([hmac.compare_digest(own, shown) for own in ours for shown in signatures]):\n",
        new="    if not ours or not signatures:\n",
        tests=("tests/billing/payments/test_webhooks.py::test_fault_073_forged_ones_are_refused_and_only_counted",),
    ),
    Fault(
        name="money: a silent host's disk is taken for unpaid",
        path="instances/volumes/unpaid_disks.py",
        old="    pause_silent(source_kind=DISK_SOURCE, last_reports=silent_instances(now), now=now)\n",
        new="",
        tests=(
            "tests/instances/enforcement/test_silent_hosts.py::test_nobody_is_called_unpaid_after_an_outage_of_the_worker",
        ),
    ),
)
