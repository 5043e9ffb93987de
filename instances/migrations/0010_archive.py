"""Archive before deletion."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("instances", "0009_moves"),
        ("storage", "0006_object_storage"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ArchiveDefault",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.AddField(
            model_name="instance",
            name="archive_choice",
            field=models.CharField(
                choices=[("account", "Account"), ("on", "On"), ("off", "Off")], default="account", max_length=7
            ),
        ),
        migrations.AddField(
            model_name="instance",
            name="archive_to",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="storage.connection"
            ),
        ),
        migrations.AddField(
            model_name="instance",
            name="archive_tried_at",
            field=models.DateTimeField(blank=True, help_text="When it was last ordered.", null=True),
        ),
        migrations.AddField(
            model_name="instance",
            name="archived_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="instance",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("archive_choice", "on"), ("archive_to__isnull", False)),
                    models.Q(("archive_choice__in", ["account", "off"]), ("archive_to__isnull", True)),
                    _connector="OR",
                ),
                name="instance_archive_names_its_place",
            ),
        ),
        migrations.AddField(
            model_name="archivedefault",
            name="connection",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="storage.connection"),
        ),
        migrations.AddField(
            model_name="archivedefault",
            name="renter",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
    ]
