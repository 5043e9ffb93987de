"""Volumes that fill up, and those that nobody pays for: told by mail, webhook and banner before anything is lost."""

import pytest
from django.test import Client

from accounts.models import User, Webhook, WebhookEvent
from billing.standing.mail import queue_notices
from common import clock
from instances.enforcement.arrears import announce_data_ends
from instances.lifecycle.stop import stop_instance
from instances.models import Alert
from instances.monitoring.alerts import update_alerts
from instances.monitoring.mail import queue_alert_mails
from instances.orders.rent import rent_instance
from storage.constants import UNPAID_KEPT
from storage.models import DiskUse, Snapshot, Volume
from tests.instances.fake_host import FakeHost, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import quoted
from tests.instances.volume_world import carry_out
from tests.instances.volumes.test_volume_api import api, call, inst, key_of, make_volume, must
from tests.mails import sent

__all__ = ["api"]


@pytest.fixture(autouse=True)
def listening(rin: User) -> None:
    Webhook.objects.create(user=rin, url="https://example.com/hook", sealed_secret="sealed")


def payloads(kind: str) -> list[dict[str, object]]:
    return [event.payload for event in WebhookEvent.objects.filter(kind=kind).order_by("at", "pk")]


def test_a_volume_that_fills_up_is_an_alert_of_the_instance_that_has_it(
    api: Client, rin: User, host: FakeHost, hours: Clock
) -> None:
    volume = make_volume(api, host)
    quote = quoted(rin, host, "hourly")
    instance = rent_instance(renter=rin, quote_id=quote.pk, name="box", volume_ids=[key_of(volume)])
    host.settle()

    def use(used_mb: int, inodes: int) -> int:
        figures = {"host": host.host, "used_mb": used_mb, "total_mb": 20_000, "inodes_used": inodes, "inodes_total": 1000}
        DiskUse.objects.update_or_create(subject=key_of(volume), defaults={**figures, "at": clock.now()})
        hours.advance(seconds=20)
        host.sync()
        return update_alerts(now=clock.now())

    assert use(17_900, 10) == 0
    assert use(18_100, 10) == 1 and use(18_200, 10) == 0, "told once"
    alert = Alert.objects.get()
    assert (alert.kind, alert.key, alert.facts["volume"]) == ("disk_full", key_of(volume).hex, "models")
    assert queue_alert_mails(now=clock.now()) == 1
    [message] = sent("box")
    assert message.subject == "box: The volume models is almost full"
    assert "/mnt/models is 91% full" in message.body
    assert payloads("alert.raised")[0]["title"] == "The volume models is almost full"
    assert use(5_000, 950) == 1, "its inodes are another matter"
    assert sorted(Alert.objects.filter(resolved_at=None).values_list("kind", flat=True)) == ["inodes_full"]
    assert use(5_000, 100) == 0 and not Alert.objects.filter(resolved_at=None).exists()
    use(19_900, 10)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    update_alerts(now=clock.now())
    assert reload(instance).state == "stopped" and not Alert.objects.filter(resolved_at=None).exists()
    assert must(call(api, f"/volumes/{volume['id']}/detach"), 202)["attached_to"] is None
    assert inst(instance)


def test_what_nobody_pays_for_is_told_seven_three_and_one_days_ahead(
    api: Client, rin: User, host: FakeHost, hours: Clock, client: Client
) -> None:
    volume = make_volume(api, host)
    must(call(api, "/snapshots", {"volume": volume["id"], "name": "first"}), 201)
    carry_out(host)
    since = clock.now()
    Volume.objects.update(unpaid_since=since)
    Snapshot.objects.update(unpaid_since=since)
    for left, fresh in ((8, 0), (7, 2), (5, 0), (3, 2), (1, 2), (0.5, 0)):
        hours.advance(seconds=((since + UNPAID_KEPT) - clock.now()).total_seconds() - left * 86_400)
        assert announce_data_ends(now=clock.now()) == fresh, left
        queue_notices(now=clock.now())
        sent()
    messages = sent(" will be deleted")
    assert len(messages) == 6
    subjects = {message.subject.split(" will be deleted")[0] for message in messages}
    assert subjects == {"models", "first"} and "/volumes" in "".join(str(message.body) for message in messages)
    assert [payload["days"] for payload in payloads("storage.release_warning") if "volume" in payload] == [7, 3, 1]
    assert payloads("storage.release_warning")[0]["delete_at"]
    client.force_login(rin)
    seen = client.get("/console/banners").content.decode()
    assert "The volume models will be deleted soon" in seen and "The snapshot first" in seen
    Volume.objects.update(unpaid_since=None)
    Snapshot.objects.update(unpaid_since=None)
    assert "will be deleted soon" not in client.get("/console/banners").content.decode()
