"""The pages of volumes, snapshots and public data, as the renter, another one and nobody see them."""

from typing import Any

from django.test import Client

from accounts.models import User
from instances.lifecycle.stop import stop_instance
from marketplace.models import Offer
from storage.models import DataSet, Snapshot, Volume
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.volume_world import carry_out

REFUSED = 303  # back to the page, which says why
PAGES = ("/volumes", "/volumes/new", "/snapshots", "/snapshots/new")


def seen(client: Client, path: str, **headers: str) -> str:
    reply = client.get(path, headers=headers)
    assert reply.status_code == 200, (path, reply.status_code)
    return str(reply.content.decode())


def sent(client: Client, path: str, body: dict[str, Any] | None = None) -> int:
    return int(client.post(path, body or {}).status_code)


def test_a_walk_through_the_pages(client: Client, rin: User, bob: User, host: FakeHost) -> None:
    Offer.objects.filter(pk=host.offer.pk).update(disk_micros_gb_day=100_000)
    for path in PAGES:
        assert client.get(path).status_code == 302, "for who is signed in alone"
    client.force_login(rin)
    assert "No volumes yet" in seen(client, "/volumes")
    wish = {"name": "models", "size_gb": 20, "host": f"host_{host.host.pk.hex}", "snapshot": ""}
    wrong = client.post("/volumes", {**wish, "name": "Not a name"})
    assert "Lowercase letters" in wrong.content.decode()
    assert sent(client, "/volumes", wish) == 302
    assert "Creating" in seen(client, "/volumes")
    carry_out(host)
    volume = Volume.objects.get()
    vol = f"vol_{volume.pk.hex}"
    assert f"mountable_volume={vol}" in seen(client, "/volumes")
    assert host.host.name in seen(client, f"/market?mountable_volume={vol}")
    instance = order_running(rin, host)
    inst = f"inst_{instance.pk.hex}"
    assert sent(client, f"/volumes/{vol}/attach", {"instance": inst}) == REFUSED
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert inst in seen(client, "/volumes")
    assert vol in seen(client, f"/offers/offr_{host.offer.pk.hex}/rent")
    assert sent(client, f"/volumes/{vol}/attach", {"instance": inst}) == 302
    assert "/mnt/models" in seen(client, f"/instances/{inst}/disks", hx_request="true")
    assert sent(client, f"/volumes/{vol}/detach") == 302
    assert sent(client, "/snapshots", {"source": vol, "name": "before"}) == 302
    assert "Creating snapshot" in seen(client, "/snapshots")
    carry_out(host)
    snapshot = Snapshot.objects.get()
    snap = f"snap_{snapshot.pk.hex}"
    assert snap in seen(client, f"/volumes/new?snapshot={snap}")
    assert sent(client, f"/snapshots/{snap}/restore") == 302
    carry_out(host)
    assert sent(client, "/volumes", {"name": "copy", "size_gb": 20, "snapshot": snap}) == 302
    carry_out(host)
    assert sent(client, "/snapshots", {"source": inst, "name": ""}) == 302
    carry_out(host)
    client.force_login(bob)
    for path in (
        f"/volumes/{vol}/delete",
        f"/volumes/{vol}/detach",
        f"/snapshots/{snap}/restore",
        f"/snapshots/{snap}/delete",
    ):
        assert sent(client, path) == 404
    assert vol not in seen(client, "/volumes")
    client.force_login(rin)
    assert sent(client, f"/snapshots/{snap}/delete") == 302
    assert sent(client, f"/volumes/{vol}/delete") == 302
    carry_out(host)
    assert {row.state for row in Volume.objects.filter(pk=volume.pk)} == {"gone"}


def test_staff_publish_on_the_page_that_everyone_sees(client: Client, rin: User, stella: User, host: FakeHost) -> None:
    grant(stella, 100 * UNIT)
    assert "No public datasets yet" in seen(client, "/public-data")
    client.force_login(stella)
    sent(client, "/volumes", {"name": "corpus", "size_gb": 5, "host": f"host_{host.host.pk.hex}", "snapshot": ""})
    carry_out(host)
    sent(client, "/snapshots", {"source": f"vol_{Volume.objects.get().pk.hex}", "name": "v1"})
    carry_out(host)
    snap = f"snap_{Snapshot.objects.get().pk.hex}"
    wish = {"snapshot": snap, "slug": "corpus", "title": "A <b>corpus</b>", "description": "Text", "licence": "CC0"}
    assert sent(client, "/public-data/new", wish) == 302
    client.logout()
    page = seen(client, "/public-data")
    assert "/pub/corpus" in page
    assert "<b>corpus" not in page
    client.force_login(rin)
    assert "/pub/corpus" in seen(client, f"/offers/offr_{host.offer.pk.hex}/rent")
    assert sent(client, "/public-data/corpus/withdraw") == REFUSED
    assert DataSet.objects.get().active
    client.force_login(stella)
    assert sent(client, "/public-data/corpus/withdraw") == 302
    assert not DataSet.objects.get().active
