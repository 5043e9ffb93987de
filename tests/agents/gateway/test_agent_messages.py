"""What agents say of their work, in the reader's language: old agents and new ones, friendly and hostile."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from accounts.models import User
from agents.daemon.engine.pull_watch import Layers
from agents.gateway.agent_messages import SAYINGS, CutOff, LoadingImage
from agents.gateway.legacy_agent_messages import SAID_BEFORE
from agents.gateway.stored_messages import stored_detail
from agents.protocol.messages import ObservedInstance
from agents.protocol.progress_messages import SENTENCES, Said, say
from common.ids import public_id
from common.messages.message import HostSays, Message, Quoted, stored
from common.messages.rendering import in_html, plain
from instances.core.failure_messages import PortTaken, VolumeMissing
from instances.models import Instance

from .conftest import Agent, report

SENTENCE = "Loading the image: 43 of 210 MiB, 3 of 7 layers ready."
LOADING = say("loading_image", done=43, total=210, ready=3, layers=7)


def test_the_market_knows_every_sentence_of_agents_and_its_parameters() -> None:
    assert set(SAYINGS) == set(SENTENCES)
    for code, form in SAYINGS.items():
        assert all(f"{{{name}}}" in SENTENCES[code] for name in form.kinds), code
        assert SENTENCES[code].count("{") == len(form.kinds), code


def test_agents_of_before_send_sentences_alone() -> None:
    for sentence, form in SAID_BEFORE.items():
        assert stored_detail(sentence) == form()
        assert SENTENCES[form.code] == sentence


def test_agents_of_before_name_a_port_or_a_volume_in_a_sentence() -> None:
    taken = "Port 40022 of the host is taken by another program."
    assert stored_detail(taken) == stored_detail("", say("port_taken", port=40_022)) == PortTaken(port=40_022)
    gone = HostSays(words=Quoted("it is gone."))
    assert stored_detail("The volume models is not on its host: it is gone.") == VolumeMissing(volume="models", why=gone)
    assert stored_detail(f"Look: {taken}") == HostSays(words=Quoted(f"Look: {taken}"))
    assert stored_detail("", say("port_taken", port="٤٠")) is None, "no number, and no text to quote"


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_both_languages(code: str) -> None:
    params = {"done": 1, "total": 2, "ready": 0, "layers": 1, "why": "timed out", "port": 4022, "volume": "5e" * 16}
    text = say(code, **{name: value for name, value in params.items() if f"{{{name}}}" in SENTENCES[code]})
    message = stored_detail(text.in_english, text)
    assert type(message) is SAYINGS[code]
    assert message is not None
    with override("zh-hans"):
        assert not set("ABCDEFGHJKLNOPQRSTUVWXYZ") & set(plain(message).replace("MiB", ""))


def test_the_sentence_of_a_pull() -> None:
    text = Layers().message
    assert stored_detail(text.in_english, text) == LoadingImage(done=0, total=0, ready=0, layers=0)


@pytest.mark.parametrize(
    "text",
    [
        Said("of_tomorrow"),
        Said("of_tomorrow", {"name": "x"}),
        Said("loading_image"),
        Said("loading_image", {"done": "1", "total": "2", "ready": "0"}),
        Said("copying", {"why": "x"}),
        Said("name", {"name": "Refunded."}),
        Said("english", {"sentence": "Refunded."}),
        Said("payment_taken_back"),
    ],
)
def test_what_the_market_does_not_know_is_quoted_as_the_host_s(text: Said) -> None:
    assert stored_detail("Its own words", text) == HostSays(words=Quoted("Its own words"))


def test_what_broke_is_the_host_s() -> None:
    message = stored_detail("", Said("cut_off", {"why": "<b>%(x)s {0}”</b>"}))
    assert isinstance(message, CutOff)
    with override("zh-hans"):
        shown = in_html(message)
    assert "&lt;b&gt;%(x)s {0}" in shown
    assert "<b>" not in shown
    assert "主机" in shown, "it is said whose words they are"
    assert stored_detail("Its own words", Said("cut_off", {"why": " "})) == HostSays(words=Quoted("Its own words"))


@pytest.fixture
def renter(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def tell(agent: Agent, instance: Instance, **text: Any) -> Message | None:
    agent.sync(report(instances=[ObservedInstance(instance.pk.hex, 1, "pulling", instance.gpu_uuids, **text)]))
    instance.refresh_from_db()
    message: Message | None = instance.progress_message
    return message


@pytest.mark.django_db
def test_from_the_wire_to_the_page_and_the_api(agent: Agent, rent: Callable[..., Instance], renter: Client) -> None:
    instance = rent(agent)
    assert tell(agent, instance, detail=SENTENCE, said=LOADING) == LoadingImage(done=43, total=210, ready=3, layers=7)
    page = renter.get("/instances", headers={"accept-language": "zh-hans"}).content.decode()
    assert "正在加载镜像：已下载 43 / 210 MiB，3 / 7 层已就绪" in page
    shown = renter.get(f"/api/v1/instances/{public_id('inst', instance.pk)}").json()
    assert shown["progress"] == "Loading the image: 43 of 210 MiB, 3 of 7 layers ready"
    assert shown["progress_message"] == {
        "code": "loading_image",
        "params": {"done": 43, "total": 210, "ready": 3, "layers": 7},
    }
    # one that knows no codes
    assert (
        tell(agent, instance, detail="Waiting for another image to arrive.")
        == SAID_BEFORE["Waiting for another image to arrive."]()
    )
    assert tell(agent, instance, detail=SENTENCE) == HostSays(words=Quoted(SENTENCE))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "params",
    [
        {"done": "9" * 40, "total": "1", "ready": "1", "layers": "1"},
        {"done": "-1", "total": "1", "ready": "1", "layers": "1"},
        {"done": "<b>", "total": "1", "ready": "1", "layers": "1"},
        {"done": "１", "total": "1", "ready": "1", "layers": "1"},
        {"done": "1", "total": "1", "ready": "1", "layers": "1", "more": "x" * 10_000},
        {"__class__": "x"},
    ],
)
def test_a_hostile_report_costs_its_code_alone(agent: Agent, rent: Callable[..., Instance], params: dict[str, str]) -> None:
    instance = rent(agent)
    message = tell(agent, instance, detail="Its own words", said=Said("loading_image", params))
    if "more" in params:
        assert message == LoadingImage(done=1, total=1, ready=1, layers=1)
    else:
        assert message == HostSays(words=Quoted("Its own words"))
    assert len(json.dumps(stored(message))) < 1_000
