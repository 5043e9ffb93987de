"""The migration that tells which data disks are there already."""

from importlib import import_module

from django.apps import apps

from accounts.models import User
from instances.lifecycle.resize import resize_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from tests.instances.fake_host import FakeHost, order, reload


def test_a_disk_counts_as_made_once_its_instance_has_run_with_it(rin: User, host: FakeHost) -> None:
    ran, later = order(rin, host), order(rin, host, disk=0, name="later")
    host.settle()
    never = order(rin, host, name="never")
    stop_instance(renter=rin, instance_id=later.pk)
    host.settle()
    Instance.objects.filter(pk=never.pk).update(started_at=None)
    resize_instance(renter=rin, instance_id=later.pk, data_disk_gb=10)
    Instance.objects.update(data_disk_made=False)
    import_module("instances.migrations.0017_data_disks_made_once").mark_made(apps, None)
    assert [reload(each).data_disk_made for each in (ran, never, later)] == [True, False, False]
