"""The pages on which volumes are made larger, moved and copied, as a person meets them."""

import re

from django.test import Client

from accounts.models import User
from instances.models import Instance
from marketplace.models import Host, Offer
from storage.models import Volume
from tests.instances.fake_host import FakeHost, refused
from tests.instances.volume_world import carry_out
from tests.instances.volumes.test_volume_move_api import carry
from tests.instances.volumes.test_volume_views import REFUSED, seen, sent


def option(page: str, host: FakeHost) -> str:
    """The choice of a host, which holds the price that was shown."""
    found = re.search(rf'value="(host_{host.host.pk.hex}:\d+)"', page)
    assert found is not None
    return found[1]


def test_larger_moved_copied_and_wanted_elsewhere(client: Client, rin: User, host: FakeHost, hana: User) -> None:
    other, away = FakeHost(hana, price="2.40"), FakeHost(hana)
    Offer.objects.update(disk_micros_gb_day=100_000)
    Host.objects.filter(pk=away.host.pk).update(region="us")
    Host.objects.filter(pk=host.host.pk).update(net_up_mbps=800)
    client.force_login(rin)
    wish = {"name": "models", "size_gb": 20, "host": f"host_{host.host.pk.hex}", "snapshot": ""}
    assert sent(client, "/volumes", wish) == 302
    carry_out(host)
    volume = Volume.objects.get()
    vol = f"/volumes/vol_{volume.pk.hex}"

    page = seen(client, f"{vol}/resize", hx_request="true")
    assert "Now 20 GB" in page and "4.00" in page
    priced = seen(client, f"{vol}/resize?price=1&size_gb=50")
    assert "5.00" in priced and "2.00" in priced
    assert "Choose a larger size" in seen(client, f"{vol}/resize?price=1&size_gb=3")
    dearer = client.post(f"{vol}/resize", {"size_gb": 50, "max_daily": "4.00"}).content.decode()
    assert "The price changed" in dearer and Volume.objects.get().size_gb == 20
    assert sent(client, f"{vol}/resize", {"size_gb": 50, "max_daily": "5.00"}) == 302
    assert "Expanding" in seen(client, "/volumes")
    carry_out(host)
    assert "50 GB" in seen(client, "/volumes")

    page = seen(client, f"{vol}/travel")
    assert "eu: move or copy" in page and "Other regions: copy" in page and "about 9 min" in page
    with refused():
        text = client.post(f"{vol}/travel", {"kind": "move", "place": option(page, away), "name": "x"}).content.decode()
        assert "only move within its region" in text
    assert sent(client, f"{vol}/travel", {"kind": "move", "place": option(page, other), "name": ""}) == 302
    row = seen(client, "/volumes")
    assert "Moving" in row and f"{host.host.name} → {other.host.name}" in row and "Cancel copying" in row
    assert sent(client, f"{vol}/cancel-move") == 302
    assert sent(client, f"{vol}/cancel-move") == REFUSED
    carry_out(other)
    assert sent(client, f"{vol}/travel", {"kind": "copy", "place": option(page, away), "name": "twin"}) == 302
    assert "Copying" in seen(client, "/volumes")
    carry(host, away)
    assert Volume.objects.get(name="twin").host_id == away.host.pk

    # Rented on the other host: the page says that it is moved first, and what is waited for.
    rent = f"/offers/offr_{other.offer.pk.hex}/rent"
    assert "volume migrates here first" in seen(client, f"/market?mountable_volume=vol_{volume.pk.hex}")
    page = seen(client, f"{rent}?mountable_volume=vol_{volume.pk.hex}")
    assert f"moved here from {host.host.name} first" in page
    assert re.search(rf'value="vol_{volume.pk.hex}"\s+checked', page)
    quote = client.post(f"{rent}/quote", choices(volume), headers={"hx-request": "true"}).content.decode()
    quoted = re.search(r'name="quote_id" value="([^"]+)"', quote)
    assert quoted is not None, quote
    assert client.post(rent, {**choices(volume), "quote_id": quoted[1]}).status_code == 302
    instance = Instance.objects.get()
    assert instance.state == "copying"
    page = seen(client, f"/instances/inst_{instance.pk.hex}")
    assert "Moving the volume models to the instance's host" in page and "Cancel copying" in page
    carry(host, other)
    assert Instance.objects.get().state == "requested"


def choices(volume: Volume) -> dict[str, object]:
    basic = {"gpu_count": 1, "image": "berth-base", "data_disk_gb": 20, "hours": 1, "billing_mode": "hourly"}
    return {**basic, "name": "box", "volume_ids": [f"vol_{volume.pk.hex}"]}
