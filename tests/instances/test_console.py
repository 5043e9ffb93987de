"""Graphs and words of the console."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from accounts.models import User
from common import clock
from instances.models import InstanceEvent, InstanceSample
from instances.web.context import EVENT_LABELS, ROWS_ON_A_PAGE, list_context
from instances.web.monitoring.usage_charts import graphs_of
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock


def _sample(instance_id: UUID, at: datetime, rx: int) -> None:
    InstanceSample.objects.create(
        instance_id=instance_id,
        at=at,
        cpu_pct=400.0,
        ram_mb=2048,
        disk_mb=1,
        rx_bytes=rx,
        tx_bytes=0,
        gpu_util_pct=50.0,
        vram_used_mb=1024,
    )


def test_graphs_are_in_the_units_of_their_axes(host: FakeHost, rin: User, hours: Clock) -> None:
    instance = order_running(rin, host)
    for seconds, rx in ((80, 0), (60, 20 * 1024 * 20), (40, 20 * 1024 * 10)):
        _sample(instance.pk, clock.now() - timedelta(seconds=seconds), rx)
    drawn = graphs_of(rin, instance.pk)
    graphs = {graph["name"]: graph for graph in drawn["graphs"]}
    assert len(drawn["at"]) == 3
    assert graphs["gpu"]["series"] == [[50.0, 50.0, 50.0]]
    assert graphs["vram"]["series"] == [[1.0, 1.0, 1.0]]
    assert graphs["vram"]["max"] == 24
    assert graphs["cpu"]["series"][0][0] == pytest.approx(400 / instance.cpu_millis * 1000)
    assert graphs["ram"]["series"][0] == [2.0, 2.0, 2.0]
    received = graphs["net"]["series"][0]
    assert received == [None, 20.0, 10.0]


def test_graphs_leave_gaps_where_nothing_is_known(host: FakeHost, rin: User, hours: Clock) -> None:
    instance = order_running(rin, host)
    for minutes in (20, 2):
        _sample(instance.pk, clock.now() - timedelta(minutes=minutes), 1000)
    graphs = {graph["name"]: graph for graph in graphs_of(rin, instance.pk)["graphs"]}
    assert graphs["net"]["series"][0] == [None, None, None], "the line breaks: nobody saw those minutes"
    assert graphs["gpu"]["series"][0] == [50.0, None, 50.0]


def test_graphs_of_a_new_instance_are_empty(host: FakeHost, rin: User) -> None:
    assert graphs_of(rin, order_running(rin, host).pk)["at"] == []


def test_every_event_of_a_life_has_words(host: FakeHost, rin: User) -> None:
    order_running(rin, host)
    kinds = set(InstanceEvent.objects.values_list("kind", flat=True))
    assert kinds - EVENT_LABELS.keys() == set()


def test_list_is_in_pages(host: FakeHost, rin: User) -> None:
    order_running(rin, host)
    context = list_context(rin, gone=False, page="99")
    assert context["page"].number == 1
    assert context["page"].paginator.per_page == ROWS_ON_A_PAGE
