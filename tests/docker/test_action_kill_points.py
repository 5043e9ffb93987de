"""What the next agent makes of what it finds: a container that runs, one that has ended, a re-image that cannot be done."""

import uuid
from dataclasses import replace

import pytest

from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import renamed
from tests.docker.conftest import Host, Ssh, eventually

pytestmark = pytest.mark.docker  # one engine, one firewall

SUM = "sha256sum /data/file"


@pytest.fixture
def rented(host: Host, order: DesiredInstance, ssh: Ssh) -> tuple[DesiredInstance, str]:
    """Running, with files on both disks, its agent ended; and the checksum of what is on the data disk."""
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, "head -c 20000000 /dev/urandom >/data/file; echo mine >/root/file; sync")
    checksum = ssh.must(order, SUM)
    host.stop()
    return order, checksum


def _settle(host: Host, order: DesiredInstance) -> None:
    host.market.until_phase(order.id, "running", order.generation)
    eventually(lambda: len(host.containers(order)) == 1, "one container is left")
    assert host.inspect(order)["State"]["Running"] is True


def _release(host: Host, order: DesiredInstance) -> None:
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []


def test_a_re_image_that_fails_goes_back_to_what_there_was(
    host: Host, rented: tuple[DesiredInstance, str], ssh: Ssh
) -> None:
    """No such image: told with its reason, and the former root runs again as it was left."""
    order, checksum = rented
    missing = renamed(order, root=1, image=f"berth/{uuid.uuid4().hex}:1")
    host.market.want(missing)
    host.start()
    row = host.market.until_phase(order.id, "failed", 2)
    assert row.failure_code == "image_missing"
    back = replace(order, generation=3)
    host.market.want(back)
    _settle(host, back)
    assert ssh.must(back, f"cat /root/file; {SUM}") == f"mine\n{checksum}"
    _release(host, back)


def test_what_fails_after_it_was_made_gives_way_too(
    host: Host, rented: tuple[DesiredInstance, str], ssh: Ssh, greedy_image: str
) -> None:
    """A container of the fresh root stands there already; the former one is taken up all the same, and another try made."""
    order, checksum = rented
    fresh = renamed(order, root=1, image=greedy_image)
    host.market.want(fresh)
    host.run_until_killed("created")
    back = replace(order, generation=3)
    host.market.want(back)
    host.start()
    _settle(host, back)
    assert ssh.must(back, "cat /root/file") == "mine\n"
    again = replace(order, generation=4, root=2)
    host.market.want(again)
    _settle(host, again)
    assert ssh.must(again, SUM) == checksum
    assert ssh.run(again, "test -e /root/file").returncode == 1
    _release(host, again)


def test_a_running_instance_is_adopted_as_it_is(host: Host, rented: tuple[DesiredInstance, str], ssh: Ssh) -> None:
    """Also when the renter has ended sshd since: the acceptance test is not taken twice."""
    order, _ = rented
    before = host.inspect(order)["State"]["StartedAt"]
    ssh.run(order, "rm /usr/sbin/sshd; pkill -x sshd")
    reports = len(host.market.reports)
    host.start()
    host.market.until(lambda _: len(host.market.reports) > reports)
    first = host.market.reports[reports]
    assert [row.phase for row in first.instances] == ["running"], "told before the first answer of this boot"
    assert host.inspect(order)["State"]["StartedAt"] == before
    assert first.instances[0].run_seconds > 0


def test_fault_026_nothing_starts_before_the_control_plane_has_spoken(
    host: Host, rented: tuple[DesiredInstance, str]
) -> None:
    order, _ = rented
    host.engine.stop(host.inspect(order)["Id"], timeout=1)  # ended as by a reboot, and restart policy "no"
    host.market.trouble = ["503"] * 3
    host.start()
    eventually(lambda: not host.market.trouble, "it has asked three times")
    assert host.inspect(order)["State"]["Running"] is False
    row = host.market.until_phase(order.id, "exited", 1)
    assert row.failure_code == "killed", "the engine remembers that it was told to stop it"
