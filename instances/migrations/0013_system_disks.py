"""What each root may hold beside its image; those that are there get the limit at their next start."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('instances', '0012_fault_of_nobody'),
    ]

    operations = [
        migrations.AddField(
            model_name='instance',
            name='system_disk_gb',
            field=models.PositiveIntegerField(default=20, help_text='What its root may hold beside the image, where its host can limit that.'),
        ),
        migrations.AddField(
            model_name='quote',
            name='system_disk_gb',
            field=models.PositiveIntegerField(default=0, help_text='Hard limit of the root; 0: the host has none.'),
        ),
    ]
