"""A hundred thousand lines of use: one read of the ledger, and sums that still come to the wallet's."""

import time
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.db import connection

from accounts.models import User
from billing.ledger.wallets import open_wallet
from billing.payouts.selectors import payable_of
from common.ids import new_uuid
from instances.earnings.report import earnings_report
from instances.models import Instance, Quote
from instances.web.earnings.rows import rows_by
from tests.billing.money import UNIT, execute, grant, triggers_off
from tests.instances.fake_host import FakeHost, order_running

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, tzinfo=UTC)
INSTANCES = 140
HOURS = 720
SECONDS_AT_MOST = 5.0  # measured: see the report of issue 4; the machine of the tests may be busy

# One posting an hour, as the settlement writes them, with one entry of the host and a line for each instance. Prices
# differ between instances and jitter by a micro-unit, as rounding makes them.
_SEED = """
INSERT INTO billing_meter (id, payer_id, payee_id, source_kind, source_id, label, mode, gpu_model, calendar, rate_micros,
    rate_hours, steps_us, steps_micros, base_us, fee_bps, opened_at, proven_until, funded_until, settled_until, closed_at)
SELECT md5('meter' || source)::uuid, %(payer)s, %(payee)s, 'instance', source, 'GPUs', 'hourly', '', false, 3000000,
       1, '{}', '{}', 0, 1000, %(start)s, %(end)s, %(end)s, %(end)s, %(end)s
FROM unnest(%(sources)s::uuid[]) AS source;
INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
SELECT 'seed:' || hour, 'usage', 'settlement', %(payee)s, '', 'meter', %(start)s + hour * interval '1 hour'
FROM generate_series(1, %(hours)s) AS hour;
INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
SELECT id, %(payee)s, 'host_share', 0 FROM billing_posting WHERE idempotency_key LIKE 'seed:%%';
INSERT INTO billing_usage (posting_id, charge_entry_id, share_entry_id, meter_id, period_from, period_to, rate_micros,
    charge_micros, fee_micros)
SELECT posting.id, entry.id, entry.id, meter.id, posting.created_at - interval '1 hour', posting.created_at, 3000000,
       3000000 + (get_byte(decode(md5(meter.id::text), 'hex'), 0) * 1000) + (posting.id %% 2), 300000
FROM billing_posting posting JOIN billing_entry entry ON entry.posting_id = posting.id CROSS JOIN billing_meter meter
WHERE posting.idempotency_key LIKE 'seed:%%' AND meter.label = 'GPUs';
UPDATE billing_wallet SET balance_micros = (SELECT sum(charge_micros - fee_micros) FROM billing_usage) WHERE id = %(payee)s;
ANALYZE billing_usage; ANALYZE billing_entry; ANALYZE billing_posting; ANALYZE billing_meter;
"""


def copies_of(instance: Instance) -> list[UUID]:
    """As many instances on the same host, each with leases of two of its GPUs."""
    quotes, instances, quote = [], [], instance.quote
    for _ in range(INSTANCES):
        key, quote_key = new_uuid(), new_uuid()
        quotes.append(Quote(**{**_values(quote), "id": quote_key}))
        instances.append(Instance(**{**_values(instance), "id": key, "quote_id": quote_key}))
    Quote.objects.bulk_create(quotes)
    Instance.objects.bulk_create(instances)
    keys = [each.pk for each in instances]
    execute(
        "INSERT INTO marketplace_lease (id, gpu_id, offer_id, holder, price_micros, cpu_millis, ram_mb, spot, leased_at,"
        " released_at, release_reason) SELECT gen_random_uuid(), gpu.id, lease.offer_id, copy, 1, 0, 0, false,"
        " %s::timestamptz, %s::timestamptz, 'end' FROM marketplace_lease lease, marketplace_gpu gpu,"
        " unnest(%s::uuid[]) AS copy WHERE gpu.index < 2 AND lease.holder = %s",
        START - timedelta(hours=1), START + timedelta(days=60), keys, instance.pk,
    )  # fmt: skip
    return keys


def _values(row: Quote | Instance) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_a_hundred_thousand_lines(hana: User, alice: User) -> None:
    with time_machine.travel(START - timedelta(hours=2), tick=False):
        host = FakeHost(hana, gpus=3)
        grant(alice, 10 * UNIT)
        sources = copies_of(order_running(alice, host))
    wallet = open_wallet(owner_id=hana.pk, kind="host")
    end = START + timedelta(hours=HOURS)
    with triggers_off(), connection.cursor() as cursor:
        values: dict[str, Any] = {"payer": open_wallet(owner_id=alice.pk).pk, "payee": wallet.pk, "sources": sources}
        cursor.execute(_SEED, {**values, "start": START, "end": end, "hours": HOURS})
    wallet.refresh_from_db()
    began = time.perf_counter()
    report = earnings_report(owner_id=hana.pk, since=date(2026, 3, 1), until=date(2026, 3, 31))
    read = time.perf_counter()
    sums = {by: sum(row.sum.net_micros for row in rows_by(report, by)) for by in ("gpu", "instance", "day", "offer", "host")}
    shared = time.perf_counter()
    payable_of(owner_id=hana.pk, now=end)
    payable = time.perf_counter()
    print(f"read {read - began:.3f} s, five groupings {shared - read:.3f} s, payable {payable - shared:.3f} s")
    assert sum(located.piece.count for located in report.pieces) == INSTANCES * HOURS
    assert set(sums.values()) == {wallet.balance_micros}
    assert len(report.by_gpu()) == 2
    assert payable - began < SECONDS_AT_MOST
