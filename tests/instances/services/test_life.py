"""The whole life, once: what the other tests look at in pieces."""

import pytest

from accounts.models import User
from tests.instances.fake_host import FakeHost, again, order
from instances.services.stop import stop_instance
from instances.services.start import start_instance
from instances.services.release import release_instance

pytestmark = pytest.mark.django_db


def test_life(rin: User, host: FakeHost) -> None:
    instance = order(rin, host, gpu_count=2)
    assert instance.state == "requested"
    host.sync()
    assert again(instance).state == "requested"
    host.sync()
    assert again(instance).state == "provisioning"
    host.work()
    host.sync()
    assert again(instance).state == "running"
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert again(instance).state == "stopped"
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert again(instance).state == "running"
    release_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert again(instance).state == "gone"
