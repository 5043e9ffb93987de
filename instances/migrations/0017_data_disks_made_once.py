"""Which data disks are there: from now on no host makes one a second time."""

from django.db import migrations, models
from django.db.models import Exists, OuterRef


def mark_made(apps, schema_editor):
    """Those of instances that have run since they have a disk, and those that were brought by a move or a clone."""
    Instance = apps.get_model("instances", "Instance")
    Event = apps.get_model("instances", "InstanceEvent")
    Move = apps.get_model("instances", "Move")
    given_later = Event.objects.filter(instance=OuterRef("pk"), kind="disk_set", at__gte=OuterRef("started_at"))
    with_disk = Instance.objects.exclude(state="gone").filter(data_disk_gb__gt=0)
    with_disk.filter(started_at__isnull=False).exclude(Exists(given_later)).update(data_disk_made=True)
    brought = Move.objects.filter(target=OuterRef("pk"), kind="clone", with_data_disk=True)
    with_disk.filter(Exists(brought)).update(data_disk_made=True)


class Migration(migrations.Migration):

    dependencies = [
        ('instances', '0016_names_for_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='instance',
            name='data_disk_made',
            field=models.BooleanField(default=False, help_text='It has run with the disk, or the disk came with it: its host never makes another one in its place.', verbose_name='data disk made'),
        ),
        migrations.AddField(
            model_name='instance',
            name='data_disk_lost_at',
            field=models.DateTimeField(blank=True, help_text='Its host does not find the data disk: it costs nothing.', null=True, verbose_name='data disk lost at'),
        ),
        migrations.RunPython(mark_made, migrations.RunPython.noop, elidable=True),
    ]
