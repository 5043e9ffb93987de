"""The periodic passes run under the names that beat uses."""

from datetime import timedelta

from celery import current_app

from accounts.models import User
from common import clock
from marketplace.models import Host, Incident, Offer
from tests.marketplace.shapes import enrolled


def _run(name: str) -> None:
    current_app.loader.import_default_modules()
    current_app.tasks[name]()


def test_silent_hosts_are_marked(hana: User) -> None:
    host = enrolled(hana, 1)
    Host.objects.filter(pk=host.pk).update(last_seen_at=clock.now() - timedelta(minutes=5))
    _run("marketplace.mark_silent_hosts")
    host.refresh_from_db()
    assert host.state == "silent"


def test_untrue_offers_are_repaired_and_told(hana: User) -> None:
    enrolled(hana, 1)
    Offer.objects.update(gpu_free=0)
    _run("marketplace.check_offers")
    assert Offer.objects.get().gpu_free == 1
    assert Incident.objects.get().kind == "offer_drift"


def test_reliability_is_refreshed(hana: User) -> None:
    host = enrolled(hana, 1)
    Host.objects.filter(pk=host.pk).update(enrolled_at=clock.now() - timedelta(days=20))
    _run("marketplace.refresh_reliability")
    assert Offer.objects.get().reliability_ppm == 1_000_000


def test_maintenance_begins(hana: User) -> None:
    host = enrolled(hana, 1)
    now = clock.now()
    host.maintenances.create(category="power", starts_at=now - timedelta(minutes=1), ends_at=now + timedelta(hours=1))
    _run("marketplace.turn_maintenance")
    assert Offer.objects.get().gpu_free == 0
