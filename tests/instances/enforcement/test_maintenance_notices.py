"""Renters hear of maintenance of their hosts: once when it is announced, once when it is called off."""

from datetime import timedelta

from accounts.models import User
from common import clock
from instances.enforcement.maintenance_notices import notify_of_maintenance
from instances.models import Instance, InstanceEvent
from instances.release.services import release_instance
from marketplace.hosts.maintenance import announce_maintenance, cancel_maintenance
from tests.instances.fake_host import FakeHost, order_running


def events(instance: Instance) -> list[tuple[str, str]]:
    rows = InstanceEvent.objects.filter(instance=instance, kind__startswith="maintenance").order_by("id")
    return [(row.kind, row.detail) for row in rows]


def test_every_renter_on_the_host_is_told_once(rin: User, host: FakeHost, hana: User) -> None:
    mine, elsewhere = order_running(rin, host), order_running(rin, FakeHost(hana))
    leaving = order_running(rin, host)
    release_instance(renter=rin, instance_id=leaving.pk)
    begin = clock.now() + timedelta(days=2)
    window = announce_maintenance(
        actor_id=hana.pk,
        host_id=host.host.pk,
        category="disk",
        starts_at=begin,
        ends_at=begin + timedelta(hours=3),
        detail="A new NVMe.",
    )
    assert (notify_of_maintenance(), notify_of_maintenance()) == (1, 0)
    text = "disk: 3 Mar 09:30 UTC – 3 Mar 12:30 UTC. The host says: “A new NVMe.”"
    assert events(mine) == [("maintenance_announced", text)]
    assert (events(elsewhere), events(leaving)) == ([], [])
    cancel_maintenance(actor_id=hana.pk, host_id=host.host.pk, maintenance_id=window.pk)
    assert (notify_of_maintenance(), notify_of_maintenance()) == (1, 0)
    assert [kind for kind, _ in events(mine)] == ["maintenance_announced", "maintenance_cancelled"]
