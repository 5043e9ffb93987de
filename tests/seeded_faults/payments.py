"""Protections against faults 58 to 86 of docs/faults.md, taken away one at a time: metering, ledger, payments."""

from typing import Final

from tests.seeded_faults.fault import Fault

FAULTS: Final = (
    Fault(
        name="payments: a clock that jumped is trusted",
        path="common/clock_guard.py",
        old="        if self._jump and counted_s - self._even_since < STEADY_S:\n",
        new="        if self._jump and counted_s - self._even_since < 0:\n",
        tests=(
            "tests/instances/host_reports/test_clock_watch.py::test_fault_058_a_clock_that_jumps_meters_and_sweeps_nothing",
        ),
    ),
    Fault(
        name="payments: a worker that is killed leaves half of a settlement",
        path="billing/metering/settle.py",
        old="        with use_case():\n            return post_usage_of(",
        new="        with suppress(Empty):\n            return post_usage_of(",
        tests=(
            "tests/concurrency/test_metering_faults.py"
            "::test_fault_061_a_worker_killed_at_every_statement_leaves_all_or_nothing",
        ),
    ),
    Fault(
        name="payments: what is used up runs on",
        path="instances/enforcement/sweeps.py",
        old="    return sum(_halt_unpaid(instance_id, now) for instance_id in ids)\n",
        new="    return sum(_halt_unpaid(instance_id, now) for instance_id in ids if instance_id not in unpaid)\n",
        tests=(
            "tests/instances/enforcement/test_sweeps.py::test_fault_063_at_the_end_of_the_money_it_stops_and_keeps_the_data",
        ),
    ),
    Fault(
        name="payments: a late price changes what was charged",
        path="billing/metering/meters.py",
        old="    begins = max(at, meter.opened_at, meter.settled_until)\n",
        new="    begins = max(at, meter.opened_at)\n",
        tests=(
            "tests/billing/metering/test_tariffs.py::test_fault_065_a_new_price_counts_from_its_moment_and_the_past_stays",
        ),
    ),
    Fault(
        name="payments: a prepaid term is paid once more by the hour",
        path="billing/metering/meters.py",
        old="payer_id=hold.wallet_id if from_escrow else payer or",
        new="payer_id=payer or",
        tests=("tests/billing/metering/test_tariffs.py::test_fault_066_a_prepaid_term_is_paid_out_of_escrow",),
    ),
    Fault(
        name="payments: a rent is outbid before the time that was promised",
        path="instances/spot/market_tick.py",
        old="now < bid.held_since + SPOT_RUN_AT_LEAST,",
        new="now < bid.held_since,",
        tests=("tests/instances/spot/test_bid_loops.py::test_fault_068_bid_loops_move_no_rent_faster_than_the_rules",),
    ),
    Fault(
        name="payments: a schedule ignores the change of the clocks",
        path="instances/schedules/recurrence.py",
        old="moment = datetime.combine(day, entry.at, tzinfo=here).astimezone(UTC)",
        new="moment = datetime.combine(day, entry.at, tzinfo=UTC) - (after.astimezone(here).utcoffset() or _DAY)",
        tests=("tests/instances/schedules/test_recurrence.py::test_fault_069_the_clocks_are_put_forward_and_back",),
    ),
    Fault(
        name="payments: whatever Decimal reads is an amount",
        path="common/money.py",
        old="    if not is_plain_decimal(text):\n",
        new="    if not is_plain_decimal(text) and not text.strip():\n",
        tests=("tests/common/test_money.py::test_fault_070_other_texts_are_refused",),
    ),
    Fault(
        name="payments: a payment in another currency is credited",
        path="billing/payments/payments.py",
        old="    if intent.currency != settings.MARKET_CURRENCY.upper():\n",
        new="    if not intent.currency:\n",
        tests=("tests/billing/payments/test_payments.py::test_fault_070_a_payment_in_another_currency_is_not_credited",),
    ),
    Fault(
        name="payments: a repeated message of the card processor is taken for a first one",
        path="billing/payments/stripe_events.py",
        old="ON CONFLICT (id) DO UPDATE SET deliveries = event.deliveries + excluded.deliveries\n",
        new="ON CONFLICT (id) DO UPDATE SET deliveries = excluded.deliveries\n",
        tests=(
            "tests/billing/payments/test_webhooks.py::test_fault_071_a_replayed_delivery_is_kept_once_and_changes_nothing",
        ),
    ),
    Fault(
        name="payments: a dispute that was won before it was heard of takes money",
        path="billing/payments/disputes.py",
        old='        if remote.status == "won" and dispute.state != DisputeState.WON:\n',
        new='        if remote.status == "won" and dispute.state == DisputeState.LOST:\n',
        tests=("tests/billing/payments/test_orders.py::test_fault_072_every_order_after_all_has_happened",),
    ),
    Fault(
        name="payments: lost messages of the card processor are not looked up",
        path="billing/payments/reconcile_stripe.py",
        old="        row.healed += sum(store_event(head=head, deliveries=0) for head in heads if head.id not in known)\n",
        new="        row.healed += sum(store_event(head=head, deliveries=0) for head in heads if head.id in known)\n",
        tests=("tests/billing/payments/test_reconcile.py::test_fault_074_all_deliveries_lost",),
    ),
    Fault(
        name="payments: a paid page is credited only when its renter comes back",
        path="billing/payments/stripe_events.py",
        old='    if subject.startswith("pi_"):\n        return sync_intent(intent_id=subject)\n'
        '    if subject.startswith("cs_"):\n        return sync_session(session_id=subject)\n',
        new="",
        tests=("tests/billing/payments/test_payments.py::test_fault_075_a_paid_page_is_credited_by_its_messages_alone",),
    ),
    Fault(
        name="payments: a lost answer makes another page of payment",
        path="billing/payments/payments.py",
        old='uuid5(NAMESPACE_URL, f"topup:{owner.pk.hex}:{key}") if key else new_uuid()',
        new='uuid5(NAMESPACE_URL, f"topup:{owner.pk.hex}:{new_uuid()}") if key else new_uuid()',
        tests=("tests/billing/payments/test_payments.py::test_fault_076_an_answer_that_was_lost_makes_no_second_page",),
    ),
    Fault(
        name="payments: a bank takes back money that is held for a running hour",
        path="billing/ledger/grants.py",
        old="    taken = min(amount_micros, transferable_micros(purse.renter))\n",
        new="    taken = min(amount_micros, purse.renter.balance_micros)\n",
        tests=("tests/billing/payments/test_disputes.py::test_fault_077_spent_money_is_owed_and_the_host_keeps_its_share",),
    ),
    Fault(
        name="payments: a payout whose answer was lost is sent again",
        path="billing/payouts/transfers.py",
        old="    found = None if first else find_transfer(payout_id=payout.pk)\n",
        new="    found = find_transfer(payout_id=payout.pk) if first else None\n",
        tests=("tests/concurrency/test_payouts.py::test_fault_080_killed_at_every_statement_of_the_sending",),
    ),
    Fault(
        name="payments: two senders send one payout",
        path="billing/payouts/payouts.py",
        old="        if payout.state != PayoutState.PENDING or _is_frozen(",
        new="        if payout.state == PayoutState.SENT:\n            return True\n"
        "        if payout.state != PayoutState.PENDING or _is_frozen(",
        tests=("tests/concurrency/test_payouts.py::test_fault_080_sent_by_many_at_once",),
    ),
    Fault(
        name="payments: what a restored market does not know is ended",
        path="agents/daemon/reconciler/epochs.py",
        old="changes={**verdict.changes, **fenced}, epoch=epoch)",
        new="changes=verdict.changes, epoch=epoch)",
        tests=(
            "tests/agents/daemon/reconciler/test_epochs.py"
            "::test_fault_082_what_the_market_does_not_know_is_kept_and_kept_from_running",
        ),
    ),
    Fault(
        name="payments: GPUs of a restored market are sold before their hosts have reported",
        path="marketplace/leasing/availability.py",
        old="NOT (h.draining OR h.awaits_epoch OR h.awaits_test)",
        new="NOT (h.draining OR h.awaits_test)",
        tests=(
            "tests/agents/gateway/test_epochs.py::test_fault_082_no_gpu_of_a_host_is_sold_before_it_has_told_what_it_holds",
        ),
    ),
    Fault(
        name="payments: money leaves a restored market before the books agree",
        path="billing/payouts/payouts.py",
        old='    if money_is_frozen():\n        raise PayoutsFrozen("Berth was restored',
        new='    if money_is_frozen() and amount_micros == 0:\n        raise PayoutsFrozen("Berth was restored',
        tests=("tests/billing/payments/test_freezes.py::test_fault_083_nothing_leaves_until_the_books_agree",),
    ),
    Fault(
        name="payments: what a bank takes back after the payout is nobody's debt",
        path="billing/ledger/grants.py",
        old="    if amount_micros > taken:\n",
        new="    if amount_micros > taken and purse.debt is not None:\n",
        tests=(
            "tests/billing/payments/test_refunds.py"
            "::test_fault_078_a_refund_or_a_dispute_after_the_payout_takes_nothing_from_the_host",
        ),
    ),
    Fault(
        name="payments: sweeps that were never made are not missed",
        path="marketplace/sweep_runs.py",
        old="    SweepRun.objects.bulk_create(rows, ignore_conflicts=True)\n",
        new="    assert rows is not None\n",
        tests=("tests/concurrency/test_metering_faults.py::test_fault_085_a_beat_that_never_started_is_told_of",),
    ),
)
