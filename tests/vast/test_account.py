"""Keys, variables, statement, logs, templates, volumes and hosts, as clients of Vast send and read them."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import SshKey, User
from billing.metering.settle import settle_meters
from common import clock
from instances.models import Instance, LogRead
from marketplace.models import Host
from tests.billing.money import UNIT, Source, grant
from tests.instances.fake_host import FakeHost, order_running, refused, reload
from tests.instances.fixtures import Clock, Sign
from tests.instances.volume_world import carry_out
from tests.vast.conftest import BODY, Vast
from vast.models import Kind, Variable
from vast.numbers.numbers import number_of

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti alice@example"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


@pytest.fixture
def number(running: Instance) -> int:
    return number_of(Kind.INSTANCE, running.pk)


# -- the user


def test_the_user_and_the_balance(vast: Vast, rin: User, sign: Sign) -> None:
    row = vast.must("GET", "/users/current")
    assert (row["email"], row["credit"], row["can_pay"], row["host_agreement_accepted"]) == (rin.email, 1000.0, True, False)
    assert Vast(sign(rin, "instances:read")).must("GET", "/users/current")["credit"] == 0.0


# -- SSH keys


def test_keys_of_the_account(vast: Vast) -> None:
    made = vast.must("POST", "/ssh/", {"ssh_key": KEY})["key"]
    assert vast.must("POST", "/ssh/", {"ssh_key": KEY})["key"] == made
    (row,) = vast.must("GET", "/ssh/")
    assert row["key"] == row["public_key"] == KEY.rpartition(" ")[0]
    changed = vast.must("PUT", f"/ssh/{row['id']}/", {"ssh_key": OTHER})["key"]
    assert [key["id"] for key in vast.must("GET", "/ssh/")] == [changed["id"]]
    vast.must("DELETE", f"/ssh/{changed['id']}/", {})
    assert vast.must("GET", "/ssh/") == []


def test_the_name_of_a_file_is_refused_with_the_remedy(vast: Vast) -> None:
    reply = vast.send("POST", "/ssh/", {"ssh_key": "~/.ssh/id_ed25519.pub"})
    assert reply.status_code == 400 and "$(cat ~/.ssh/id_ed25519.pub)" in reply.json()["msg"]
    for text in (None, "", 3, "no key", KEY + "\n" + OTHER):
        assert vast.refused("POST", "/ssh/", {"ssh_key": text})[0] == 400


def test_keys_of_an_instance(vast: Vast, number: int, running: Instance) -> None:
    vast.must("POST", f"/instances/{number}/ssh/", {"ssh_key": KEY})
    (row,) = vast.must("GET", "/ssh/")
    vast.must("DELETE", f"/instances/{number}/ssh/{row['id']}/", {})
    assert (reload(running).ssh_keys, reload(running).all_keys) == ([], False)
    vast.must("POST", f"/instances/{number}/ssh/", {"ssh_key": KEY})
    assert reload(running).ssh_keys == [row["key"]]


def test_strangers_keys_are_not_found(vast: Vast, mallory: User, sign: Sign, number: int) -> None:
    vast.must("POST", "/ssh/", {"ssh_key": KEY})
    (row,) = vast.must("GET", "/ssh/")
    other = Vast(sign(mallory))
    assert other.refused("DELETE", f"/ssh/{row['id']}/")[0] == 404
    assert other.refused("DELETE", f"/instances/{number}/ssh/{row['id']}/") == (404, "no_such_instance")
    assert other.refused("POST", f"/instances/{number}/ssh/", {"ssh_key": OTHER}) == (404, "no_such_instance")
    assert SshKey.objects.count() == 1


def test_a_key_needs_both_scopes(rin: User, sign: Sign, number: int) -> None:
    assert Vast(sign(rin, "keys:write")).refused("POST", "/ssh/", {"ssh_key": KEY}) == (403, "missing_scope")
    writes = Vast(sign(rin, "instances:write", "keys:write"))
    assert writes.refused("POST", f"/instances/{number}/ssh/", {"ssh_key": KEY}) == (403, "missing_scope")


@pytest.mark.parametrize("key", ["7", "x", KEY.replace("/", "")[:190].replace(" ", "%20")])
def test_keys_are_named_by_their_number(vast: Vast, number: int, key: str) -> None:
    reply = vast.send("DELETE", f"/instances/{number}/ssh/{key}/")
    assert (reply.status_code, "`vastai show ssh-keys`" in reply.json()["msg"]) == (404 if key == "7" else 400, True)
    if key == "7":
        for method, body in (("DELETE", {}), ("PUT", {"ssh_key": KEY})):
            reply = vast.send(method, "/ssh/7/", body)
            assert (reply.status_code, reply.json()["msg"][:22]) == (404, "You have no SSH key 7.")


# -- variables


def test_variables_are_kept_and_given_to_new_instances(vast: Vast, host: FakeHost) -> None:
    vast.must("POST", "/secrets/", {"key": "HF_TOKEN", "value": "hf_1234567"})
    assert vast.refused("POST", "/secrets/", {"key": "HF_TOKEN", "value": "x"}) == (400, "existing_key")
    vast.must("PUT", "/secrets/", {"key": "HF_TOKEN", "value": "hf_7654321"})
    assert vast.must("GET", "/secrets/")["secrets"] == {"HF_TOKEN": "********"}
    assert "hf_7654321" not in Variable.objects.get().sealed
    (ask,) = vast.offers(num_gpus={"eq": 1})
    made = vast.must("PUT", f"/asks/{ask['id']}/", {**BODY, "env": {"A": "1"}})
    launch = Instance.objects.get().launch
    assert launch is not None and (launch.env, launch.secret_names) == ({"A": "1"}, ["HF_TOKEN"])
    row = vast.must("GET", f"/instances/{made['new_contract']}/")["instances"]
    assert ["HF_TOKEN", "********"] in row["extra_env"]
    vast.must("DELETE", "/secrets/", {"key": "HF_TOKEN"})
    assert vast.refused("DELETE", "/secrets/", {"key": "HF_TOKEN"}) == (404, "nonexistent_key")


def test_an_order_may_name_a_variable_itself(vast: Vast, host: FakeHost) -> None:
    vast.must("POST", "/secrets/", {"key": "A", "value": "account"})
    (ask,) = vast.offers(num_gpus={"eq": 1})
    vast.must("PUT", f"/asks/{ask['id']}/", {**BODY, "env": {"A": "order"}})
    launch = Instance.objects.get().launch
    assert launch is not None and (launch.env, launch.secret_names) == ({"A": "order"}, [])


@pytest.mark.parametrize(
    "body", [{}, {"key": "A"}, {"key": "A B", "value": "x"}, {"key": "LD_PRELOAD", "value": "x"}, {"key": 1}]
)
def test_what_can_be_no_variable_is_refused(vast: Vast, body: dict[str, Any]) -> None:
    assert vast.refused("POST", "/secrets/", body)[0] == 400


# -- money


def test_the_statement(vast: Vast) -> None:
    now = clock.now().timestamp()
    found = vast.must(
        "GET", "/users/me/invoices", owner="me", sdate=str(now - 86400), edate=str(now + 1), inc_charges="true"
    )
    (row,) = found["invoices"]
    assert (row["type"], row["amount"]) == ("payment", 1000.0)
    assert found["current"]["credit"] == 1000.0
    filters = json.dumps({"when": {"gte": 0, "lte": int(now) + 10}})
    page = vast.must("GET", "/api/v1/invoices/", select_filters=filters, limit="20", latest_first="true")
    assert (page["count"], page["next_token"], page["results"][0]["items"]) == (1, None, [])
    assert vast.must("GET", "/charges/", select_filters=json.dumps({"day": {"gte": 0}}))["results"] == []


def test_old_payments_are_found_behind_many_charges(
    vast: Vast, rin: User, hana: User, hours: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked for is chosen in the query: more charges than are ever read at once hide no payment, on any page."""
    monkeypatch.setattr("vast.account.statement.STATEMENT_AT_MOST", 3)
    grant(rin, UNIT)
    source = Source(rin, hana).start(clock.now())
    begun = clock.now()
    hours.advance(hours=5)
    source.run(begun, clock.now())
    settle_meters(now=clock.now())
    grant(rin, 2 * UNIT)
    paid = [row["amount"] for row in vast.must("GET", "/users/me/invoices", inc_charges="false")["invoices"]]
    assert paid == [2.0, 1.0, 1000.0]
    assert [row["type"] for row in vast.must("GET", "/users/me/invoices")["invoices"]] == ["payment", "charge", "charge"]

    def pages(path: str) -> list[list[float]]:
        found: list[list[float]] = []
        after: str | None = "null"
        while after:
            page = vast.must("GET", path, limit="2", after_token=after)
            found.append([row["amount"] for row in page["results"]])
            after = page["next_token"]
        return found

    assert pages("/api/v1/invoices/") == [[2.0, 1.0], [1000.0]]
    assert [len(page) for page in pages("/charges/")] == [2, 2, 1]


@pytest.mark.parametrize("query", [{"sdate": "x"}, {"sdate": "-1"}, {"edate": "1e300"}])
def test_times_that_are_none(vast: Vast, query: dict[str, str]) -> None:
    assert vast.refused("GET", "/users/me/invoices", **query) == (400, "invalid_args")
    assert vast.refused("GET", "/charges/", select_filters='{"day": 3}') == (400, "invalid_args")
    assert vast.refused("GET", "/charges/", select_filters="{") == (400, "invalid_args")


# -- logs


def test_a_log_is_read_at_a_signed_address(vast: Vast, number: int, running: Instance) -> None:
    url = vast.must("PUT", f"/instances/request_logs/{number}/", {"tail": "10"})["result_url"]
    path = url[url.index("/api/v0/") :]
    public = Client()
    assert public.get(path).status_code == 202
    row = LogRead.objects.get(instance=running)
    row.operation, row.read_at, row.lines = None, clock.now(), [["2026-01-01T00:00:00Z", "hello"]]
    row.save()
    reply = public.get(path)
    assert (reply.status_code, reply.content) == (200, b"hello\n")
    assert reply.headers["Content-Type"].startswith("text/plain")
    assert public.get(path[:-2]).status_code == 404


@pytest.mark.parametrize("body", [{"tail": "many"}, {"filter": 3}, {"filter": "x" * 101}])
def test_logs_refuse_what_they_cannot_read(vast: Vast, number: int, body: dict[str, Any]) -> None:
    assert vast.refused("PUT", f"/instances/request_logs/{number}/", body) == (400, "invalid_args")


# -- templates

TEMPLATE: dict[str, Any] = {
    "name": "Mine",
    "image": "berth-base",
    "tag": None,
    "env": "-e A=1 -p 8123:8123",
    "onstart": "echo hi",
    "runtype": "ssh",
    "extra_filters": {"verified": {"eq": True}, "external": {"eq": False}, "rentable": {"eq": True}},
    "recommended_disk_space": "20",
    "desc": "A template",
    "readme": "# Mine",
    "private": True,
}


def test_templates_are_made_changed_used_and_deleted(vast: Vast, host: FakeHost) -> None:
    made = vast.must("POST", "/template/", TEMPLATE)["template"]
    filters = {"hash_id": {"eq": made["hash_id"]}}
    (row,) = vast.must("GET", "/template/", select_filters=json.dumps(filters))["templates"]
    assert (row["name"], row["env"], row["recommended_disk_space"]) == ("Mine", "-e A='1' -p 8123:8123", 20)
    changed = vast.must("PUT", "/api/v1/template/", {**TEMPLATE, "hash_id": made["hash_id"], "env": "-e A=2"})["template"]
    assert changed["id"] == made["id"] and changed["hash_id"] != made["hash_id"]
    (ask,) = vast.offers(num_gpus={"eq": 1})
    body = {**BODY, "image": None, "template_hash_id": made["hash_id"]}
    body.pop("runtype")
    vast.must("PUT", f"/asks/{ask['id']}/", body)
    instance = Instance.objects.get()
    assert instance.launch is not None and (instance.launch.env, instance.launch.on_start) == ({"A": "1"}, "echo hi")
    assert 8123 in {inside for inside, _ in instance.ports}
    vast.must("DELETE", "/template/", {"hash_id": changed["hash_id"]})
    assert vast.must("GET", "/template/", select_filters=json.dumps({"name": {"eq": "Mine"}}))["templates"] == []


@pytest.mark.parametrize(
    "more",
    [
        {"name": ""},
        {"image": None},
        {"image": "no-such-image-here!"},
        {"env": "-v /a:/b"},
        {"extra_filters": {"gpu_name": {"eq": "H200"}}},
        {"recommended_disk_space": "lots"},
    ],
)
def test_templates_refuse_what_they_cannot_keep(vast: Vast, image: Any, more: dict[str, Any]) -> None:
    assert vast.refused("POST", "/template/", {**TEMPLATE, **more})[0] == 400


def test_strangers_templates_are_not_found(vast: Vast, mallory: User, sign: Sign, image: Any) -> None:
    made = vast.must("POST", "/template/", TEMPLATE)["template"]
    other, filters = Vast(sign(mallory)), json.dumps({"hash_id": {"eq": made["hash_id"]}})
    assert other.must("GET", "/template/", select_filters=filters)["templates"] == []
    for body in ({"hash_id": made["hash_id"]}, {"template_id": made["id"]}):
        assert other.refused("DELETE", "/template/", body)[0] == 404
    assert other.refused("PUT", "/api/v1/template/", {**TEMPLATE, "hash_id": made["hash_id"]})[0] == 404


# -- volumes


def test_volumes_are_found_made_linked_and_deleted(vast: Vast, host: FakeHost) -> None:
    search = {"disk_space": {"gte": 1}, "verified": {"eq": True}}
    assert vast.must("POST", "/volumes/search/", search)["offers"] == []
    Host.objects.update(verification="verified", verified_at=clock.now())
    (place,) = vast.must("POST", "/volumes/search/", search)["offers"]
    body = {"id": place["id"], "size": 2, "name": "work"}
    made = vast.must("PUT", "/volumes/", body)
    assert vast.must("PUT", "/volumes/", body) == made and made["volume_name"] == "work"
    unnamed = {"id": place["id"], "size": 3}
    assert vast.must("PUT", "/volumes/", unnamed) == vast.must("PUT", "/volumes/", unnamed)
    rows = vast.must("GET", "/volumes", owner="me", type="all_volume")["volumes"]
    assert sorted((row["disk_space"], row["instances"]) for row in rows) == [(2.0, []), (3.0, [])]
    (ask,) = vast.offers(num_gpus={"eq": 1})
    wrong = {"create_new": False, "volume_id": made["new_contract"], "mount_path": "/root/work"}
    assert vast.refused("PUT", f"/asks/{ask['id']}/", {**BODY, "volume_info": wrong}) == (400, "invalid_args")
    with refused():
        assert vast.refused("DELETE", f"/volumes/?id={made['new_contract']}")[0] == 409  # it is being made
    for text in ("", "x", "-1", "9" * 30):
        assert vast.refused("DELETE", f"/volumes/?id={text}") == (400, "invalid_args")


@pytest.mark.parametrize("more", [{"size": 0}, {"size": "x"}, {"id": "1"}, {"name": "Not OK"}, {"name": 3}])
def test_volumes_refuse_what_cannot_be(vast: Vast, host: FakeHost, more: dict[str, Any]) -> None:
    (place,) = vast.must("POST", "/volumes/search/", {})["offers"]
    assert vast.refused("PUT", "/volumes/", {"id": place["id"], "size": 2, **more})[0] == 400


def test_volumes_say_what_to_do_in_the_words_of_the_client(vast: Vast, host: FakeHost) -> None:
    (place,) = vast.must("POST", "/volumes/search/", {})["offers"]
    made = vast.must("PUT", "/volumes/", {"id": place["id"], "size": 2, "name": "work"})["new_contract"]
    carry_out(host)
    (ask,) = vast.offers(num_gpus={"eq": 1})
    linked = {**BODY, "volume_info": {"create_new": False, "volume_id": made}}
    instance = vast.must("PUT", f"/asks/{ask['id']}/", linked)["new_contract"]
    reply = vast.send("DELETE", f"/volumes/?id={made}")
    assert (reply.status_code, f"vastai destroy instance {instance}" in reply.json()["msg"]) == (409, True)
    for method, path, body, word in (
        ("DELETE", "/volumes/?id=7", {}, "You have no volume 7."),
        ("PUT", "/volumes/", {"id": 7}, "`vastai search volumes`"),
        ("PUT", "/volumes/", {"id": place["id"], "name": "Not OK"}, "name: "),
        ("POST", "/volumes/", {"machine": 7, "size": 15, "price_disk": 0.1}, "vastai list machine"),
    ):
        assert word in vast.send(method, path, body).json()["msg"], word
    Host.objects.update(draining=True)
    with refused():
        reply = vast.send("PUT", "/volumes/", {"id": place["id"], "size": 3})
    assert (reply.status_code, "`vastai search volumes`" in reply.json()["msg"]) == (410, True)


def test_a_bid_elsewhere_than_its_volume(vast: Vast, host: FakeHost, bids: FakeHost, hana: User) -> None:
    there = FakeHost(hana)
    made = vast.must("PUT", "/volumes/", {"id": number_of(Kind.HOST, there.host.pk), "size": 2})["new_contract"]
    carry_out(there)
    (ask,) = vast.offers(type="bid", num_gpus={"eq": 1})
    with refused():
        body = {**BODY, "price": 2.0, "volume_info": {"create_new": False, "volume_id": made}}
        reply = vast.send("PUT", f"/asks/{ask['id']}/", body)
    assert (reply.status_code, "machine_id" in reply.json()["msg"]) == (409, True)


# -- bids and images of an instance


def test_a_bid_is_changed_for_the_whole_instance(vast: Vast, bids: FakeHost, running: Instance, number: int) -> None:
    assert vast.refused("PUT", f"/instances/bid_price/{number}/", {"price": 2.0})[0] == 409
    (two,) = vast.offers(type="bid", num_gpus={"eq": 2})
    made = vast.must("PUT", f"/asks/{two['id']}/", {**BODY, "price": 2.5})["new_contract"]
    vast.must("PUT", f"/instances/bid_price/{made}/", {"client_id": "me", "price": 3.0})
    assert Instance.objects.get(billing_mode="spot").spot_max_micros == 1_500_000
    assert vast.refused("PUT", f"/instances/bid_price/{made}/", {"price": 0.5}) == (400, "invalid_price")


def test_recycle_and_update(vast: Vast, number: int, running: Instance, host: FakeHost) -> None:
    vast.must("PUT", f"/instances/recycle/{number}/")
    assert reload(running).root_number == running.root_number + 1
    host.settle()
    vast.must("PUT", f"/instances/update_template/{number}/", {"id": number, "env": {"B": "2"}, "image": "berth-base"})
    launch = reload(running).launch
    assert launch is not None and launch.env == {"B": "2"}


# -- hosts


def test_hosts_are_shown_listed_priced_and_unlisted(host: FakeHost, hana: User, sign: Sign) -> None:
    owner = Vast(sign(hana))
    (row,) = owner.must("GET", "/machines", owner="me")["machines"]
    assert (row["num_gpus"], row["gpu_name"], row["listed_gpu_cost"]) == (4, "RTX 4090", 3.6)
    assert owner.must("GET", f"/machines/{row['id']}", owner="me") == [row]
    terms = {"price_gpu": 0.5, "price_disk": 0.15, "price_min_bid": 0.25, "credit_discount_max": 0.3, "min_chunk": 1}
    owner.must("PUT", "/machines/create_asks/", {"machine": row["id"], **terms})
    (row,) = owner.must("GET", "/machines")["machines"]
    assert (row["listed_gpu_cost"], row["min_bid_price"], row["credit_discount_max"]) == (0.5, 0.25, 0.3)
    assert row["listed_storage_cost"] == 0.15
    owner.must("PUT", f"/machines/{row['id']}/minbid/", {"client_id": "me", "price": 0.3})
    owner.must("DELETE", f"/machines/{row['id']}/asks/", {})
    (row,) = owner.must("GET", "/machines")["machines"]
    assert (row["min_bid_price"], row["listed"]) == (0.3, False)
    assert Vast(Client()).offers() == []


def test_a_host_is_its_owners(vast: Vast, host: FakeHost) -> None:
    number = number_of(Kind.HOST, host.offer.host_id)
    assert vast.must("GET", "/machines")["machines"] == []
    assert vast.refused("PUT", "/machines/create_asks/", {"machine": number, "price_gpu": 0.01})[0] == 404
    assert vast.refused("DELETE", f"/machines/{number}/asks/")[0] == 404
    assert vast.refused("PUT", f"/machines/{number}/minbid/", {"price": 0.01})[0] == 404
