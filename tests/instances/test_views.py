"""Rent page, list and page of instances, walked by their renter, another renter, a host owner and a stranger."""

import re
from uuid import UUID

import pytest
from django.test import Client

from accounts.models import SshKey, User
from accounts.ssh_keys.services import add_ssh_key
from common.ids import public_id
from instances.models import Instance, Quote
from instances.states import InstanceState
from marketplace.hosts.offers import set_price
from storage.models import Image
from tests.instances.fake_host import FakeHost, order, order_running, reload
from tests.instances.fixtures import Clock
from tests.web.world import KEY, OTHER_KEY

HTMX = {"HX-Request": "true"}


def _offr(host: FakeHost) -> str:
    return public_id("offr", host.offer.pk)


def _inst(instance: Instance) -> str:
    return public_id("inst", instance.pk)


def _choices(**changes: object) -> dict[str, object]:
    return {"gpu_count": "2", "image": "berth-base", "data_disk_gb": "20", "hours": "24", "name": "train", **changes}


@pytest.fixture
def page(client: Client, rin: User) -> Client:
    client.force_login(rin)
    return client


def _quote(page: Client, host: FakeHost, **changes: object) -> Quote:
    page.post(f"/offers/{_offr(host)}/rent/quote", _choices(**changes), headers=HTMX)
    return Quote.objects.latest("created_at", "id")


def _order(page: Client, host: FakeHost, quote: Quote, **changes: object) -> Instance | None:
    page.post(f"/offers/{_offr(host)}/rent", _choices(quote_id=public_id("quot", quote.pk), **changes))
    return Instance.objects.first()


# -- renting


def test_stranger_is_sent_to_sign_in_and_back(client: Client, host: FakeHost) -> None:
    path = f"/offers/{_offr(host)}/rent"
    assert client.get(f"{path}?gpu_count=2")["Location"] == f"/accounts/login/?next={path}%3Fgpu_count%3D2"
    assert client.post(path, _choices()).status_code == 302
    assert not Instance.objects.exists()


def test_rent_page_offers_the_choices_of_the_address(page: Client, host: FakeHost) -> None:
    text = page.get(f"/offers/{_offr(host)}/rent?gpu_count=2").content.decode()
    assert '<input type="radio" name="gpu_count" value="2" checked' in text
    assert "Berth base" in text
    assert "No SSH keys yet" in text


def test_flavours_of_a_framework_are_one_choice_with_its_cuda_versions(page: Client, host: FakeHost) -> None:
    for slug, cuda in (
        ("pytorch-cpu", ""),
        ("pytorch-cuda11-8", "11.8"),
        ("pytorch-cuda12-4", "12.4"),
        ("pytorch-cuda13-0", "13.0"),
    ):
        Image.objects.create(slug=slug, title="PyTorch 2.13", reference=f"berth/{slug}@sha256:1", cuda=cuda)
    text = page.get(f"/offers/{_offr(host)}/rent?image=pytorch-cuda11-8").content.decode()
    assert text.count('<strong class="pick-whole">PyTorch 2.13</strong>') == 1
    found = re.findall(r'name="image" value="(pytorch-[^"]+)" (checked)?><span>([^<]+)<', text)
    assert found == [
        ("pytorch-cuda12-4", "", "CUDA 12.4"),
        ("pytorch-cuda11-8", "checked", "CUDA 11.8"),
        ("pytorch-cpu", "", "without CUDA"),
    ]
    assert _quote(page, host, image="pytorch-cuda11-8").image.slug == "pytorch-cuda11-8"


@pytest.mark.parametrize("number", ["9" * 5_000, "٣", "100001", "-1", "1e1"])
def test_rent_page_passes_over_what_is_no_number(page: Client, host: FakeHost, number: str) -> None:
    requested = {"gpu_count": number, "data_disk_gb": number}
    assert page.get(f"/offers/{_offr(host)}/rent", requested).status_code == 200
    assert page.post(f"/offers/{_offr(host)}/rent", {"data_disk_gb": number}).status_code == 200


def test_price_follows_the_choices(page: Client, host: FakeHost) -> None:
    response = page.post(f"/offers/{_offr(host)}/rent/quote", _choices(), headers=HTMX)
    text = response.content.decode()
    assert "$7.20" in text
    assert "$172.80" in text
    assert "included" in text
    assert public_id("quot", Quote.objects.get().pk) in text


def test_more_than_is_free_is_told_with_a_way_on(page: Client, host: FakeHost, rin: User) -> None:
    order(rin, host, gpu_count=3)
    text = page.post(f"/offers/{_offr(host)}/rent/quote", _choices(gpu_count="2"), headers=HTMX).content.decode()
    assert "These GPUs were just rented" in text
    assert "/market?gpu_model=rtx-4090" in text
    assert "Confirm and rent" not in text


def test_order_by_quote(page: Client, host: FakeHost, rin: User) -> None:
    add_ssh_key(user=rin, name="", public_key=KEY)
    keys = [public_id("key", key.pk) for key in SshKey.objects.filter(user=rin)]
    made = _order(page, host, _quote(page, host), ssh_key_ids=keys)
    assert made is not None
    assert (made.renter, made.gpu_count, made.data_disk_gb, made.name) == (rin, 2, 20, "train")
    assert len(made.ssh_keys) == 1


def test_order_without_keys_has_none(page: Client, host: FakeHost, rin: User) -> None:
    add_ssh_key(user=rin, name="", public_key=KEY)
    made = _order(page, host, _quote(page, host))
    assert made is not None
    assert made.ssh_keys == []


def test_order_leads_to_the_instance(page: Client, host: FakeHost) -> None:
    quote = _quote(page, host)
    form = _choices(quote_id=public_id("quot", quote.pk))
    response = page.post(f"/offers/{_offr(host)}/rent", form)
    assert response["Location"] == f"/instances/{_inst(Instance.objects.get())}"


def test_changed_price_is_told_and_nothing_ordered(page: Client, host: FakeHost, hana: User) -> None:
    quote = _quote(page, host)
    set_price(actor_id=hana.pk, offer_id=host.offer.pk, price_micros=9_000_000)
    response = page.post(f"/offers/{_offr(host)}/rent", _choices(quote_id=public_id("quot", quote.pk)))
    assert response.status_code == 409
    assert "The price changed before you confirmed" in response.content.decode()
    assert 'value="train"' in response.content.decode()
    assert not Instance.objects.exists()


def test_expired_price_is_told(page: Client, host: FakeHost, hours: Clock) -> None:
    quote = _quote(page, host)
    hours.advance(minutes=11)
    response = page.post(f"/offers/{_offr(host)}/rent", _choices(quote_id=public_id("quot", quote.pk)))
    assert response.status_code == 409
    assert "has expired" in response.content.decode()


def test_same_order_twice_is_one_instance(page: Client, host: FakeHost) -> None:
    quote = _quote(page, host)
    form = _choices(quote_id=public_id("quot", quote.pk))
    page.post(f"/offers/{_offr(host)}/rent", form)
    assert "already been placed" in page.post(f"/offers/{_offr(host)}/rent", form).content.decode()
    assert Instance.objects.count() == 1


def test_empty_wallet_is_told(client: Client, host: FakeHost, bob: User) -> None:
    client.force_login(bob)
    quote = _quote(client, host)
    response = client.post(f"/offers/{_offr(host)}/rent", _choices(quote_id=public_id("quot", quote.pk)))
    assert response.status_code == 402
    assert "have enough funds for the first hour" in response.content.decode()


def test_order_without_a_price_is_refused(page: Client, host: FakeHost) -> None:
    assert page.post(f"/offers/{_offr(host)}/rent", _choices()).status_code == 404
    assert not Instance.objects.exists()


def test_nobody_orders_by_anothers_quote(page: Client, client: Client, host: FakeHost, mallory: User) -> None:
    quote = _quote(page, host)
    other = Client()
    other.force_login(mallory)
    form = _choices(quote_id=public_id("quot", quote.pk))
    assert other.post(f"/offers/{_offr(host)}/rent", form).status_code == 404
    assert not Instance.objects.exists()


@pytest.mark.parametrize("wrong", [{"gpu_count": "77"}, {"image": "nothing"}, {"data_disk_gb": "99999"}])
def test_senseless_choices_get_no_price(page: Client, host: FakeHost, wrong: dict[str, str]) -> None:
    text = page.post(f"/offers/{_offr(host)}/rent/quote", _choices(**wrong), headers=HTMX).content.decode()
    assert "Confirm and rent" not in text
    assert not Quote.objects.exists()


def test_key_is_added_while_renting(page: Client, host: FakeHost, rin: User) -> None:
    path = f"/offers/{_offr(host)}/rent/key"
    text = page.post(path, _choices(new_public_key=OTHER_KEY), headers=HTMX).content.decode()
    key = SshKey.objects.get(user=rin)
    assert f'value="{public_id("key", key.pk)}" checked' in text


def test_wrong_key_while_renting_is_told_and_kept(page: Client, host: FakeHost) -> None:
    path = f"/offers/{_offr(host)}/rent/key"
    text = page.post(path, _choices(new_public_key="ssh-dss AAAA"), headers=HTMX).content.decode()
    assert "This key is too weak" in text
    assert "ssh-dss AAAA" in text


def test_wrong_key_is_told_to_who_has_chosen_none_of_theirs(page: Client, host: FakeHost, rin: User) -> None:
    add_ssh_key(user=rin, name="laptop", public_key=OTHER_KEY)
    form = _choices(new_public_key="ssh-dss AAAA", ssh_key_ids=[])
    text = page.post(f"/offers/{_offr(host)}/rent/key", form, headers=HTMX).content.decode()
    assert "This key is too weak" in text
    assert "laptop" in text


# -- the list


def test_empty_list_leads_to_the_market(page: Client) -> None:
    assert "No instances yet" in page.get("/instances").content.decode()


def test_row_has_all_that_a_renter_needs(page: Client, host: FakeHost, rin: User, hours: Clock) -> None:
    instance = order_running(rin, host, gpu_count=2)
    hours.advance(seconds=60)
    host.sync()
    text = page.get("/instances").content.decode()
    for wanted in ("Running", "2 × RTX 4090", "ssh -p ", "JupyterLab", "TensorBoard", "$0.12", "$7.20", "eu", "Simulated"):
        assert wanted in text
    assert f"/instances/{_inst(instance)}/stop" in text


def test_gone_ones_are_a_list_of_their_own(page: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    page.post(f"/instances/{_inst(instance)}/release")
    host.settle()
    assert reload(instance).state == InstanceState.GONE
    assert "No instances yet" in page.get("/instances").content.decode()
    assert ">box<" in page.get("/instances", {"gone": "1"}).content.decode()


def test_list_part_has_no_frame(page: Client, host: FakeHost, rin: User) -> None:
    order(rin, host)
    text = page.get("/instances", headers=HTMX).content.decode()
    assert "<html" not in text
    assert ">box<" in text


def test_nobody_sees_anothers_instances(page: Client, host: FakeHost, rin: User, mallory: User, hana: User) -> None:
    instance = order_running(rin, host)
    for person in (mallory, hana):
        other = Client()
        other.force_login(person)
        assert ">box<" not in other.get("/instances").content.decode()
        for path in ("", "/use"):
            assert other.get(f"/instances/{_inst(instance)}{path}").status_code == 404
        for verb in ("stop", "start", "restart", "release", "rename"):
            assert other.post(f"/instances/{_inst(instance)}/{verb}", {"name": "mine"}).status_code == 404
    assert reload(instance).state == InstanceState.RUNNING
    assert reload(instance).name == "box"


@pytest.mark.django_db
def test_strangers_are_sent_to_sign_in(client: Client) -> None:
    key = public_id("inst", UUID(int=1))
    for path in ("/instances", f"/instances/{key}", f"/instances/{key}/use"):
        assert client.get(path)["Location"].startswith("/accounts/login/")
    assert client.post(f"/instances/{key}/stop")["Location"].startswith("/accounts/login/")


# -- one instance


def test_page_of_a_running_instance(page: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    text = page.get(f"/instances/{_inst(instance)}").content.decode()
    for wanted in ("Running", "Cost so far", "lab?token=", "Activity", "Rented", instance.gpu_uuids[0], "/use"):
        assert wanted in text


def test_failure_says_whose_fault_it_is(page: Client, host: FakeHost, rin: User) -> None:
    instance = order(rin, host)
    host.sync()
    host.break_next(instance, "ssh_silent", "No banner.")
    host.sync()
    text = page.get(f"/instances/{_inst(instance)}").content.decode()
    assert "SSH in the instance didn&#x27;t respond." in text
    assert "This is the host's fault. You aren't charged for it." in text.replace("&#x27;", "'")


def test_silent_host_is_told(page: Client, host: FakeHost, rin: User, hours: Clock) -> None:
    instance = order_running(rin, host)
    hours.advance(minutes=5)
    assert "Host not responding" in page.get(f"/instances/{_inst(instance)}").content.decode()


def test_stop_start_restart_release(page: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    for verb, passing, after in (
        ("restart", InstanceState.RESTARTING, InstanceState.RUNNING),
        ("stop", InstanceState.STOPPING, InstanceState.STOPPED),
        ("start", InstanceState.STARTING, InstanceState.RUNNING),
        ("release", InstanceState.RELEASING, InstanceState.GONE),
    ):
        response = page.post(f"/instances/{_inst(instance)}/{verb}", headers=HTMX)
        assert (response.status_code, response["HX-Trigger"]) == (204, "changed")
        assert reload(instance).state == passing
        assert page.get(f"/instances/{_inst(instance)}").status_code == 200
        host.settle()
        assert reload(instance).state == after
        assert page.get(f"/instances/{_inst(instance)}").status_code == 200


def test_action_without_htmx_returns_to_the_page(page: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    response = page.post(f"/instances/{_inst(instance)}/stop")
    assert response["Location"] == f"/instances/{_inst(instance)}"


def test_unlawful_action_is_a_toast(page: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    response = page.post(f"/instances/{_inst(instance)}/start", headers=HTMX)
    assert response.status_code == 409
    assert response["HX-Retarget"] == "#toasts"


@pytest.mark.parametrize("verb", ["rewind", "delete", "stop2"])
def test_unknown_verbs_do_not_exist(page: Client, host: FakeHost, rin: User, verb: str) -> None:
    instance = order_running(rin, host)
    assert page.post(f"/instances/{_inst(instance)}/{verb}").status_code == 404


def test_actions_need_a_form(page: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    assert page.get(f"/instances/{_inst(instance)}/stop").status_code == 405
    checking = Client(enforce_csrf_checks=True)
    checking.force_login(rin)
    assert checking.post(f"/instances/{_inst(instance)}/stop").status_code == 403
    assert reload(instance).state == InstanceState.RUNNING


def test_risen_price_is_asked_about_and_accepted(page: Client, host: FakeHost, rin: User, hana: User) -> None:
    instance = order_running(rin, host)
    page.post(f"/instances/{_inst(instance)}/stop")
    host.settle()
    set_price(actor_id=hana.pk, offer_id=host.offer.pk, price_micros=4_000_000)
    text = page.get(f"/instances/{_inst(instance)}").content.decode()
    assert "Starting now costs $4.00/hr, up from $3.60/hr." in text
    assert 'name="max_rate" value="4.00"' in text
    assert page.post(f"/instances/{_inst(instance)}/start", headers=HTMX).status_code == 409
    page.post(f"/instances/{_inst(instance)}/start", {"max_rate": "4.00"})
    assert reload(instance).rate_micros_per_hour == 4_000_000


def test_rename(page: Client, host: FakeHost, rin: User) -> None:
    instance = order(rin, host)
    page.post(f"/instances/{_inst(instance)}/rename", {"name": "better"})
    assert reload(instance).name == "better"
    page.post(f"/instances/{_inst(instance)}/rename", {"name": ""})
    assert reload(instance).name == "better"
