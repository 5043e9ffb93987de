"""What a renter reads about the host of an instance: maintenance to come, and what came back after its fault."""

from datetime import timedelta

from django.test import Client
from django.urls import reverse

from accounts.models import User
from common import clock
from common.ids import public_id
from instances.models import Instance
from marketplace.hosts.maintenance import announce_maintenance
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock


def page_of(user: User, instance: Instance) -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse("instance", args=[public_id("inst", instance.pk)])).content.decode()


def test_announced_maintenance_is_on_the_page_of_the_instance_until_it_is_over(
    rin: User, host: FakeHost, hours: Clock
) -> None:
    instance, begin = order_running(rin, host), clock.now() + timedelta(days=2)
    end = begin + timedelta(hours=1)
    assert "Maintenance scheduled" not in page_of(rin, instance)
    announce_maintenance(
        actor_id=host.owner.pk, host_id=host.host.pk, category="power", starts_at=begin, ends_at=end, detail="UPS <1>"
    )
    page = page_of(rin, instance)
    assert "Maintenance scheduled: power" in page.replace("&#x27;", "'")
    assert "UPS &lt;1&gt;" in page
    hours.advance(days=2)
    assert "Host maintenance in progress: power" in page_of(rin, instance)
    hours.advance(hours=1)
    assert "UPS" not in page_of(rin, instance)


def test_what_was_given_back_is_on_the_page_and_in_the_usage(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    hours.advance(seconds=100)
    host.sync()
    host.end(instance, "host_restarted")
    host.sync()
    page = page_of(rin, instance).replace("&#x27;", "'")
    assert "$0.10 refunded for host faults" in page
    assert "The host restarted while the instance was running." in page
    client = Client()
    client.force_login(rin)
    usage = client.get(reverse("api_instance_usage", args=[public_id("inst", instance.pk)])).json()
    assert (usage["cost_so_far"], usage["given_back"], usage["settled"]) == ("0.00", "0.10", "0.10")
    assert [line["amount"] for line in usage["lines"]] == ["0.10", "-0.10"]
