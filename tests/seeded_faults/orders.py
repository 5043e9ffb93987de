"""Protections against faults 1 to 12 of docs/faults.md, taken away one at a time: allocation and orders."""

from typing import Final

from tests.seeded_faults.fault import Fault

FAULTS: Final = (
    Fault(
        name="orders: a repeated request is carried out again",
        path="accounts/idempotency/services.py",
        old="        if claimed is None:\n            return _stored_response(user, key, request_hash)\n",
        new="",
        tests=("tests/instances/test_api.py::test_fault_009_the_same_key_gives_the_same_reply_and_one_instance",),
    ),
    Fault(
        name="orders: a drain that has just committed is overlooked",
        path="marketplace/leasing/lease.py",
        old="    if host.draining:\n",
        new="    if host.draining and not offer.listed:\n",
        tests=("tests/concurrency/test_lease_counts.py::test_fault_006_a_drain_that_commits_first_closes_the_offer",),
    ),
    Fault(
        name="orders: GPUs of a term that is stopped are rented out",
        path="instances/host_reports/reconcile.py",
        old="    kept = keep_gpus(instance, at=at)\n",
        new="    kept = False\n",
        tests=("tests/instances/retention/test_gpu_reservation.py::test_fault_007_the_future_of_a_term_is_sold_to_nobody",),
    ),
    Fault(
        name="orders: money that is held pays again",
        path="billing/metering/holds.py",
        old="if wallet.spendable_micros < needed:",
        new="if wallet.balance_micros < needed:",
        tests=("tests/concurrency/test_rent.py::test_fault_008_money_for_seven_rents_seven",),
    ),
    Fault(
        name="orders: a renter who was switched off meanwhile rents",
        path="instances/orders/quote_claims.py",
        old="if not quote.renter_active:",
        new="if quote.renter_active is None:",
        tests=("tests/instances/enforcement/test_suspended.py::test_fault_011_a_renter_switched_off_mid_rent_gets_nothing",),
    ),
    Fault(
        name="orders: the share of a GPU is rounded up",
        path="marketplace/pricing/cpu_ram_share.py",
        old="whole.ram_mb // gpu_count)",
        new="-(-whole.ram_mb // gpu_count))",
        tests=("tests/marketplace/pricing/test_share.py::test_fault_012_no_shape_is_over_committed",),
    ),
)
