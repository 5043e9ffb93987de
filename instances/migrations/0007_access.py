"""Keys that change live, passwords, address lists, ports, what was read of logs."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

import common.clock


class Migration(migrations.Migration):
    dependencies: ClassVar = [("instances", "0006_schedules")]

    operations: ClassVar = [
        migrations.AlterField(
            "instance",
            "ssh_keys",
            models.JSONField(default=list, help_text="Public keys as OpenSSH lines that let in now."),
        ),
        migrations.AddField(
            "instance",
            "all_keys",
            models.BooleanField(default=False, help_text="Every key of the account, those added later too."),
        ),
        migrations.AddField(
            "instance",
            "sealed_password",
            models.TextField(blank=True, default="", help_text="Hash of root's password, encrypted; empty: none lets in."),
            preserve_default=False,
        ),
        migrations.AddField("instance", "password_set_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "instance",
            "allow_from",
            models.JSONField(blank=True, default=list, help_text="Networks from which SSH answers; none: everywhere."),
        ),
        migrations.AddField(
            "instance",
            "ports_from_generation",
            models.PositiveIntegerField(default=0, help_text="`ports` are published from this run on."),
        ),
        migrations.CreateModel(
            name="LogRead",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("question", models.CharField(help_text="SHA-256 of the search: tail, q, since.", max_length=300)),
                ("operation", models.UUIDField(blank=True, null=True)),
                ("lines", models.JSONField(default=list, help_text="[[time, text], …], oldest first.")),
                ("cut", models.BooleanField(default=False, help_text="There is more than was read.")),
                ("failure", models.CharField(blank=True, max_length=300)),
                ("asked_at", models.DateTimeField(default=common.clock.now)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="instances.instance"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["asked_at"], name="log_read_by_age")],
                "constraints": [models.UniqueConstraint(fields=("instance", "question"), name="one_log_read_per_question")],
            },
        ),
    ]
