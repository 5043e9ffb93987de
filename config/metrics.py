"""Metrics for Prometheus, counted in the database at each scrape."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from accounts.notification_channels.selectors import count_notifications, notification_lag_s
from accounts.selectors import count_mails, count_people
from common import clock
from instances.core.selectors import count_by_state
from instances.states import InstanceState
from marketplace.hosts.incidents import open_incidents
from marketplace.hosts.selectors import all_hosts
from marketplace.states import HostState
from marketplace.sweep_runs import late_sweeps


class MarketCounts(Collector):
    """Gauges of the market; nothing is counted between two scrapes."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily("berth_users", "Active users", value=count_people())
        late = len(late_sweeps(now=clock.now()))
        yield GaugeMetricFamily("berth_late_sweeps", "Periodic passes that have not been made for too long", value=late)
        kinds = Counter(open_incidents().values_list("kind", flat=True))
        yield GaugeMetricFamily("berth_open_incidents", "Incidents that need a person", value=kinds.total())
        yield _by_kind(kinds)
        yield _by_state("berth_mails", "Mails that wait or were given up in a week", ["waiting", "given_up"], count_mails())
        yield _by_state(
            "berth_notifications",
            "Notifications that wait or were given up in a month",
            ["waiting", "given_up"],
            count_notifications(),
        )
        yield GaugeMetricFamily(
            "berth_notification_lag_seconds",
            "How long the oldest notification that is due has been due",
            value=notification_lag_s(),
        )
        hosts = Counter(all_hosts().values_list("state", flat=True))
        yield _by_state("berth_hosts", "Hosts, retired ones left out", HostState.values, hosts)
        yield _by_state("berth_instances", "Instances ever rented", InstanceState.values, count_by_state())

    def describe(self) -> list[GaugeMetricFamily]:
        return []


def _by_kind(kinds: Mapping[str, int]) -> GaugeMetricFamily:
    """Return one row for each kind of which an incident is open; docs/operations.md lists all kinds."""
    family = GaugeMetricFamily("berth_incidents", "Open incidents by kind", labels=["kind"])
    for kind, count in sorted(kinds.items()):
        family.add_metric([kind], count)
    return family


def _by_state(name: str, meaning: str, states: list[str], counts: Mapping[str, int]) -> GaugeMetricFamily:
    """Return one row for each state, including those with zero, so that graphs have no gaps."""
    family = GaugeMetricFamily(name, meaning, labels=["state"])
    for state in states:
        family.add_metric([state], counts.get(state, 0))
    return family


@cache
def registry() -> CollectorRegistry:
    """Return the registry with this process's metrics and the market's."""
    own = CollectorRegistry()
    for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR, MarketCounts()):
        own.register(collector)
    return own
