"""The benchmarks still fit the schema and the relay: each seed and the relay's waiters, in small."""

import pytest
from django.db import connection
from django.test import Client

from accounts.models import User
from bench.market_seed import seed_statements
from bench.meter_seed import HOURS, SEED
from bench.relay import measure_relay
from billing.models import Meter
from common import clock
from marketplace.models import Offer

OFFERS = 1_000
METERS = 100


@pytest.mark.django_db
def test_the_seed_of_offers_fits_the_market(client: Client, hana: User) -> None:
    User.objects.filter(pk=hana.pk).update(email="hana@example.com")
    with connection.cursor() as cursor:
        for query, arguments in seed_statements(OFFERS):
            cursor.execute(query, arguments or None)
    assert Offer.objects.count() >= OFFERS
    assert client.get("/api/v1/offers").status_code == 200


@pytest.mark.django_db
def test_the_seed_of_meters_fits_the_ledger() -> None:
    with connection.cursor() as cursor:
        for query in SEED:
            cursor.execute(query, {"meters": METERS, "hours": HOURS, "opened": clock.now()})
    assert Meter.objects.filter(closed_at=None).count() == METERS


@pytest.mark.stack
def test_no_wake_up_of_the_relay_is_lost() -> None:
    figures = measure_relay(waiters=20, wakes=20)
    assert (figures.waiters, figures.lost) == (20, 0)
