"""Volumes, snapshots and public datasets as a script meets them: through the API, to the last cent."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Hold
from common import clock
from common.ids import parse_public_id
from instances.core.selectors import desired_instances
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.volumes.usage import record_disk_usage
from marketplace.models import Host, Offer
from storage.models import Attachment, DiskUse, Operation, Snapshot, Volume
from storage.sweeps import delete_unpaid, retry_deletions, update_storage_meters
from storage.volumes.usage import DiskUseRow
from tests.billing.money import UNIT, grant, wallet
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock, Sign
from tests.instances.volume_world import CHECKSUM, GIB, carry_out

DAY_GB = 100_000  # micro-units: 0.10 a GB and day


@pytest.fixture
def api(rin: User, host: FakeHost, sign: Sign) -> Client:
    Offer.objects.filter(pk=host.offer.pk).update(disk_micros_gb_day=DAY_GB)
    return sign(rin)


def call(client: Client, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    return client.post(f"/api/v1{path}", body or {}, content_type="application/json", headers=headers)


def must(reply: Any, status: int) -> Any:
    assert reply.status_code == status, reply.content
    return reply.json()


def code(reply: Any) -> str:
    return f"{reply.status_code} {reply.json()['code']}"


def make_volume(client: Client, host: FakeHost, name: str = "models", **more: Any) -> dict[str, Any]:
    body = {"name": name, "host": f"host_{host.host.pk.hex}", "size_gb": 20, **more}
    made: dict[str, Any] = must(call(client, "/volumes", body), 201)
    assert made["state"] == "creating"
    assert carry_out(host) == ["make_volume"]
    shown: dict[str, Any] = must(client.get(f"/api/v1/volumes/{made['id']}"), 200)
    return shown


def stopped(renter: User, host: FakeHost) -> Instance:
    instance = order_running(renter, host)
    stop_instance(renter=renter, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def inst(instance: Instance) -> str:
    return f"inst_{instance.pk.hex}"


def key_of(shown: dict[str, Any]) -> UUID:
    return parse_public_id(shown["id"].partition("_")[0], shown["id"])


def test_a_volume_costs_its_days_from_ready_to_deleted(
    api: Client, rin: User, host: FakeHost, hours: Clock, hana: User
) -> None:
    before = wallet(rin).balance_micros
    body = {"name": "models", "host": f"host_{host.host.pk.hex}", "size_gb": 20}
    tried = api.post("/api/v1/volumes?dry_run=true", body, content_type="application/json")
    assert (tried.status_code, Volume.objects.count()) == (200, 0)
    dear = call(api, "/volumes", {**body, "max_daily_rate": "1.99"})
    assert (dear.status_code, dear.json()["code"], dear.json()["daily_rate"]) == (409, "price_changed", "2.00")
    assert Volume.objects.count() == 0
    first = must(call(api, "/volumes", body, **{"Idempotency-Key": "one"}), 201)
    assert must(call(api, "/volumes", body, **{"Idempotency-Key": "one"}), 201) == first
    assert Volume.objects.count() == 1
    hours.advance(minutes=5)  # making it costs nothing
    assert carry_out(host) == ["make_volume"]
    shown = must(api.get(f"/api/v1/volumes/{first['id']}"), 200)
    assert (shown["state"], shown["daily_rate"], shown["path"]) == ("ready", "2.00", "/mnt/models")
    for _ in range(48):
        hours.advance(hours=1)
        extend_holds(now=clock.now())
        settle_meters(now=clock.now())
    assert must(api.get(f"/api/v1/volumes/{first['id']}"), 200)["cost_so_far"] == "4.00"
    ended = must(api.delete(f"/api/v1/volumes/{first['id']}"), 202)
    assert ended["state"] == "deleting"
    hours.advance(hours=5)  # the host takes its time at its own expense
    assert carry_out(host) == ["drop_volume"]
    assert api.get(f"/api/v1/volumes/{first['id']}").status_code == 404
    assert wallet(rin).balance_micros == before - 4 * UNIT
    assert wallet(hana, "host").balance_micros == 4 * UNIT * 9 // 10
    assert not Hold.objects.filter(released_at=None).exists()
    assert first["id"] in api.get("/api/v1/wallet/entries").content.decode()
    assert ledger_findings() == []


def test_a_volume_that_could_not_be_made_costs_nothing(api: Client, rin: User, host: FakeHost) -> None:
    made = must(call(api, "/volumes", {"name": "a", "host": f"host_{host.host.pk.hex}", "size_gb": 20}), 201)
    carry_out(host, fail="disk_full")
    shown = must(api.get(f"/api/v1/volumes/{made['id']}"), 200)
    assert (shown["state"], shown["failure"]["code"]) == ("failed", "disk_full")
    assert not Hold.objects.filter(released_at=None).exists()
    must(api.delete(f"/api/v1/volumes/{made['id']}"), 202)
    assert carry_out(host) == ["drop_volume"]
    assert ledger_findings() == []


def test_what_cannot_be_ordered(api: Client, rin: User, host: FakeHost, sign: Sign, bob: User) -> None:
    there = f"host_{host.host.pk.hex}"
    for name in ("", "Upper", "-x", "a/b", "../x", "a" * 41):
        assert call(api, "/volumes", {"name": name, "host": there, "size_gb": 1}).status_code == 400
    assert code(call(api, "/volumes", {"name": "a", "host": there, "size_gb": 1600})) == "409 no_storage"
    assert code(call(api, "/volumes", {"name": "a", "size_gb": 1})) == "400 invalid_input"
    assert code(call(api, "/volumes", {"name": "a", "host": f"host_{uuid4().hex}", "size_gb": 1})) == "404 not_found"
    with refused():
        assert code(call(sign(bob), "/volumes", {"name": "a", "host": there, "size_gb": 1})) == "402 insufficient_funds"
    make_volume(api, host)
    with refused():
        assert code(call(api, "/volumes", {"name": "models", "host": there, "size_gb": 1})) == "409 volume_name_taken"
    assert [each["name"] for each in must(api.get("/api/v1/storage-hosts"), 200)] == [host.host.name]


def test_one_writer_at_a_time(api: Client, rin: User, host: FakeHost, hana: User) -> None:
    volume = make_volume(api, host)
    one, other = stopped(rin, host), stopped(rin, host)
    running = order_running(rin, host)
    elsewhere = stopped(rin, FakeHost(hana))
    attach = f"/volumes/{volume['id']}/attach"
    assert code(call(api, attach, {"instance": inst(running)})) == "409 unlawful_action"
    assert code(call(api, attach, {"instance": inst(elsewhere)})) == "409 volume_elsewhere"
    assert must(call(api, attach, {"instance": inst(one)}), 202)["attached_to"] == inst(one)
    assert must(call(api, attach, {"instance": inst(one)}), 202)["attached_to"] == inst(one)
    assert code(call(api, attach, {"instance": inst(other)})) == "409 volume_busy"
    assert code(api.delete(f"/api/v1/volumes/{volume['id']}")) == "409 volume_busy"
    mounts = {row.id: row.mounts for row in desired_instances(host.host.pk)}
    assert [(each.id, each.kind, each.name, each.size_gb) for each in mounts[one.pk]] == [
        (key_of(volume).hex, "volume", "models", 20)
    ]
    assert mounts[other.pk] == []
    must(call(api, f"/instances/{inst(one)}/start"), 202)
    assert code(call(api, f"/volumes/{volume['id']}/detach")) == "409 unlawful_action"
    host.settle()
    must(call(api, f"/instances/{inst(one)}/stop"), 202)
    host.settle()
    assert must(call(api, f"/volumes/{volume['id']}/detach"), 202)["attached_to"] is None
    # With the start: this volume and no other.
    must(call(api, f"/instances/{inst(other)}/start", {"volume_ids": [volume["id"]]}), 202)
    storage = must(api.get(f"/api/v1/instances/{inst(other)}/storage"), 200)
    assert [each["path"] for each in storage["volumes"]] == ["/mnt/models"]
    host.settle()
    must(api.delete(f"/api/v1/instances/{inst(other)}"), 202)
    host.settle()
    assert must(api.get(f"/api/v1/volumes/{volume['id']}"), 200)["attached_to"] is None, "gone instances hold nothing"


def test_a_start_that_read_the_instance_before_the_attachment_fails(api: Client, rin: User, host: FakeHost) -> None:
    """Else its container could start without the volume, or with one that another has by then."""
    volume, instance = make_volume(api, host), stopped(rin, host)
    before = instance.generation
    must(call(api, f"/volumes/{volume['id']}/attach", {"instance": inst(instance)}), 202)
    assert reload(instance).generation == before + 1


def test_with_the_rent(api: Client, rin: User, host: FakeHost) -> None:
    volume = make_volume(api, host)
    quote = must(call(api, "/quotes", {"offer": f"offr_{host.offer.pk.hex}"}), 201)["id"]
    requested = {"quote_id": quote, "volume_ids": [volume["id"]]}
    made = must(call(api, "/instances", requested), 201)
    assert must(api.get(f"/api/v1/volumes/{volume['id']}"), 200)["attached_to"] == made["id"]
    other = must(call(api, "/quotes", {"offer": f"offr_{host.offer.pk.hex}"}), 201)["id"]
    with refused():
        assert code(call(api, "/instances", {**requested, "quote_id": other})) == "409 volume_busy"
    assert must(api.get("/api/v1/instances"), 200)["results"][0]["id"] == made["id"], "nothing was rented"


def test_snapshot_restore_and_copy(api: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    volume = make_volume(api, host)
    made = must(call(api, "/snapshots", {"volume": volume["id"], "name": "before"}), 201)
    assert (made["state"], made["checksum"], made["stored_bytes"]) == ("creating", "", 0)
    with refused():
        assert code(call(api, "/snapshots", {"volume": volume["id"]})) == "409 volume_busy"
    assert code(api.delete(f"/api/v1/volumes/{volume['id']}")) == "409 volume_busy"
    assert code(call(api, f"/snapshots/{made['id']}/restore")) == "409 snapshot_not_ready"
    hours.advance(hours=2)
    carry_out(host)
    snapshot = must(api.get(f"/api/v1/snapshots/{made['id']}"), 200)
    assert (snapshot["state"], snapshot["checksum"], snapshot["daily_rate"]) == ("ready", CHECKSUM, "0.30")
    for _ in range(24):
        hours.advance(hours=1)
        extend_holds(now=clock.now())
        settle_meters(now=clock.now())
    assert must(api.get(f"/api/v1/snapshots/{made['id']}"), 200)["cost_so_far"] == "0.30", "3 GB stored, one day"
    assert must(call(api, f"/snapshots/{made['id']}/restore"), 202)["progress"]["kind"] == "restore_disk"
    assert must(api.get(f"/api/v1/volumes/{volume['id']}"), 200)["state"] == "restoring"
    assert code(api.delete(f"/api/v1/snapshots/{made['id']}")) == "409 snapshot_in_use"
    instance = stopped(rin, host)
    assert code(call(api, f"/volumes/{volume['id']}/attach", {"instance": inst(instance)})) == "409 volume_busy"
    assert carry_out(host, fail="snapshot_damaged") == ["restore_disk"]
    shown = must(api.get(f"/api/v1/volumes/{volume['id']}"), 200)
    assert (shown["state"], shown["failure"]["code"]) == ("ready", "snapshot_damaged")
    copy = must(call(api, "/volumes", {"name": "copy", "snapshot": made["id"]}), 201)
    assert (copy["size_gb"], copy["snapshot"]) == (20, made["id"])
    args = Operation.objects.get(kind="make_volume", ended_at=None).args
    assert args == {"volume": key_of(copy).hex, "size_gb": "20", "snapshot": key_of(made).hex}
    assert code(api.delete(f"/api/v1/snapshots/{made['id']}")) == "409 snapshot_in_use"
    carry_out(host)
    must(api.delete(f"/api/v1/snapshots/{made['id']}"), 202)
    assert carry_out(host) == ["drop_snapshot"]
    assert must(api.get(f"/api/v1/volumes/{copy['id']}"), 200)["state"] == "ready"
    assert ledger_findings() == []


@pytest.mark.parametrize(
    "outcome",
    [{}, {"checksum": CHECKSUM}, {"checksum": "", "stored_bytes": "1"}, {"checksum": CHECKSUM, "stored_bytes": "-1"}],
)
def test_what_its_host_has_not_proven_whole_is_never_listed_as_ready(
    api: Client, host: FakeHost, outcome: dict[str, str]
) -> None:
    volume = make_volume(api, host)
    made = must(call(api, "/snapshots", {"volume": volume["id"]}), 201)
    carry_out(host, outcome=outcome)
    assert must(api.get(f"/api/v1/snapshots/{made['id']}"), 200)["state"] == "failed"
    assert [hold.source_kind for hold in Hold.objects.filter(released_at=None)] == ["volume"]


def test_a_host_cannot_charge_more_than_the_disk(api: Client, host: FakeHost) -> None:
    volume = make_volume(api, host)
    made = must(call(api, "/snapshots", {"volume": volume["id"]}), 201)
    carry_out(host, outcome={"checksum": CHECKSUM, "stored_bytes": str(10_000 * GIB)})
    assert must(api.get(f"/api/v1/snapshots/{made['id']}"), 200)["daily_rate"] == "2.00"


def test_a_data_disk_is_copied_while_it_runs_and_put_back_while_it_is_stopped(
    api: Client, rin: User, host: FakeHost
) -> None:
    instance = order_running(rin, host)
    made = must(call(api, "/snapshots", {"instance": inst(instance)}), 201)
    assert made["source"] == {"kind": "disk", "id": inst(instance), "name": "box"}
    assert Operation.objects.get().args["instance"] == instance.pk.hex
    carry_out(host)
    assert code(call(api, f"/snapshots/{made['id']}/restore")) == "409 unlawful_action"
    must(call(api, f"/instances/{inst(instance)}/stop"), 202)
    host.settle()
    must(call(api, f"/snapshots/{made['id']}/restore"), 202)
    for verb in ("start", "release"):
        with refused():
            path = f"/api/v1/instances/{inst(instance)}"
            reply = api.delete(path) if verb == "release" else call(api, f"/instances/{inst(instance)}/start")
            assert code(reply) == "409 volume_busy"
    assert carry_out(host) == ["restore_disk"]
    must(call(api, f"/instances/{inst(instance)}/start"), 202)
    kinds = must(api.get(f"/api/v1/instances/{inst(instance)}/events"), 200)["results"]
    assert {"snapshot_asked", "disk_restored"} <= {event["kind"] for event in kinds}


def test_staff_publish_and_everyone_reads(api: Client, rin: User, host: FakeHost, stella: User, sign: Sign) -> None:
    grant(stella, 100 * UNIT)
    staff = sign(stella)
    volume = make_volume(staff, host, "corpus")
    made = must(call(staff, "/snapshots", {"volume": volume["id"]}), 201)
    carry_out(host)
    wish = {"snapshot": made["id"], "slug": "corpus", "title": "A corpus", "licence": "CC0"}
    assert code(call(api, "/datasets", wish)) == "404 not_found"
    own = must(call(api, "/snapshots", {"volume": make_volume(api, host)["id"]}), 201)
    carry_out(host)
    assert code(call(api, "/datasets", {**wish, "snapshot": own["id"]})) == "403 forbidden"
    must(call(staff, "/datasets", wish), 201)
    assert code(api.delete("/api/v1/datasets/corpus")) == "403 forbidden"
    assert code(staff.delete(f"/api/v1/snapshots/{made['id']}")) == "409 snapshot_in_use"
    (found,) = must(api.get("/api/v1/datasets"), 200)["results"]
    assert (found["slug"], found["path"], found["host"]["name"]) == ("corpus", "/pub/corpus", host.host.name)
    one, other = stopped(rin, host), stopped(rin, host)
    for instance in (one, other):
        storage = must(call(api, "/datasets/corpus/attach", {"instance": inst(instance)}), 202)
        assert storage["data_sets"] == [{"slug": "corpus", "path": "/pub/corpus"}]
    mounts = {row.id: row.mounts for row in desired_instances(host.host.pk)}
    assert [(each.id, each.kind) for each in mounts[one.pk]] == [(key_of(made).hex, "public")]
    assert staff.delete("/api/v1/datasets/corpus").status_code == 204
    assert code(call(api, "/datasets/corpus/attach", {"instance": inst(one)})) == "404 not_found"
    assert must(call(api, "/datasets/corpus/detach", {"instance": inst(other)}), 202)["data_sets"] == []
    assert len(mounts[other.pk]) == 1
    assert {row.id: len(row.mounts) for row in desired_instances(host.host.pk)}[one.pk] == 1, "who has it keeps it"


def test_usage_with_inodes_and_a_warning(api: Client, rin: User, host: FakeHost, hana: User) -> None:
    volume, instance = make_volume(api, host), order_running(rin, host)
    rows = [
        DiskUseRow(key_of(volume), 18_000, 20_000, 10, 1000),
        DiskUseRow(instance.pk, 10, 10_000, 999, 1000),
        DiskUseRow(uuid4(), 1, 2, 3, 4),
    ]
    assert record_disk_usage(host_id=host.host.pk, rows=rows, at=clock.now()) == 2
    assert record_disk_usage(host_id=FakeHost(hana).host.pk, rows=rows, at=clock.now()) == 0, (
        "of another's disk it knows nothing"
    )
    assert record_disk_usage(host_id=host.host.pk, rows=[DiskUseRow(instance.pk, 9, 1, 1, 1)], at=clock.now()) == 0
    usage = must(api.get(f"/api/v1/volumes/{volume['id']}"), 200)["usage"]
    assert (usage["used_percent"], usage["inodes_percent"], usage["nearly_full"]) == (90, 1, True)
    disk = must(api.get(f"/api/v1/instances/{inst(instance)}/storage"), 200)["data_disk"]
    assert (disk["usage"]["inodes_percent"], disk["usage"]["nearly_full"]) == (99, True)
    assert DiskUse.objects.count() == 2


def test_the_market_beside_a_volume(api: Client, rin: User, host: FakeHost, hana: User) -> None:
    other, away = FakeHost(hana), FakeHost(hana)
    Offer.objects.filter(pk=away.offer.pk).update(region="us")
    Host.objects.filter(pk=host.host.pk).update(net_up_mbps=800)
    Offer.objects.filter(pk=other.offer.pk).update(net_down_mbps=400)
    volume = make_volume(api, host)
    for path in ("/api/v1/offers", "/api/v1/offers/facets"):
        assert api.get(path, {"mountable_volume": volume["id"]}).status_code == 200
    found = must(api.get("/api/v1/offers", {"mountable_volume": volume["id"]}), 200)["results"]
    ways = {offer["id"]: offer["volume"] for offer in found}
    assert ways == {
        f"offr_{host.offer.pk.hex}": {"here": True, "bytes": 0, "minutes": 0},
        f"offr_{other.offer.pk.hex}": {"here": False, "bytes": 20 * GIB, "minutes": 7},
    }
    assert "volume" not in must(api.get("/api/v1/offers"), 200)["results"][0]
    unknown = api.get("/api/v1/offers", {"mountable_volume": f"vol_{uuid4().hex}"})
    assert unknown.json()["errors"][0]["field"] == "mountable_volume"


def test_what_nobody_pays_for_is_kept_and_then_deleted(api: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    volume = make_volume(api, host)
    snapshot = must(call(api, "/snapshots", {"volume": volume["id"]}), 201)
    carry_out(host)
    row = wallet(rin)
    row.balance_micros = row.held_micros  # spent elsewhere
    poor = row.balance_micros
    type(row).objects.filter(pk=row.pk).update(balance_micros=poor)
    hours.advance(hours=8)  # what is held lasts for so long, at the most
    host.was_there()
    extend_holds(now=clock.now())
    settle_meters(now=clock.now())
    assert update_storage_meters(now=clock.now()) == 2
    spent = wallet(rin).balance_micros
    hours.advance(days=10)
    host.was_there()
    assert update_storage_meters(now=clock.now()) == 0
    assert must(api.get(f"/api/v1/volumes/{volume['id']}"), 200)["delete_at"] is not None
    grant(rin, 10 * UNIT)
    assert update_storage_meters(now=clock.now()) == 2
    assert must(api.get(f"/api/v1/volumes/{volume['id']}"), 200)["delete_at"] is None
    assert wallet(rin).balance_micros == spent + 10 * UNIT, "the time between costs nothing"
    Volume.objects.update(unpaid_since=clock.now())
    Snapshot.objects.update(unpaid_since=clock.now())
    hours.advance(days=29)
    assert delete_unpaid(now=clock.now()) == 0
    hours.advance(days=2)
    assert delete_unpaid(now=clock.now()) == 2
    assert sorted(carry_out(host, fail="operation_failed")) == ["drop_snapshot", "drop_volume"]
    assert retry_deletions(now=clock.now()) == 2, "what broke off is asked for again"
    assert retry_deletions(now=clock.now()) == 0
    carry_out(host)
    assert (Volume.objects.get().state, Snapshot.objects.get().state) == ("gone", "gone")
    assert api.get(f"/api/v1/snapshots/{snapshot['id']}").status_code == 404


def test_an_attachment_ends_with_its_instance_alone(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk, volume_ids=[])
    assert not Attachment.objects.exists()
