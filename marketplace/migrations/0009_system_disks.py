"""Each root has a disk of its own where the host can limit it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0008_host_keeps_ssh_list'),
    ]

    operations = [
        migrations.AddField(
            model_name='host',
            name='root_limit',
            field=models.CharField(blank=True, db_default='', help_text='disk: each root has a hard limit; none, or empty: it has not.', max_length=10),
        ),
        migrations.AddField(
            model_name='offer',
            name='system_disk_gb',
            field=models.PositiveIntegerField(db_default=0, help_text='Hard limit of each root; 0: the host has none.'),
        ),
        migrations.AlterField(
            model_name='offer',
            name='disk_free_gb',
            field=models.PositiveIntegerField(default=0, help_text='Beside a system disk, rounded down to tens: it changes with every file.'),
        ),
    ]
