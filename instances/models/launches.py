"""Launch settings as agreed with an order."""

from typing import ClassVar, Final

from django.conf import settings
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Length
from django.db.models.lookups import Exact, LessThanOrEqual

from common import clock
from common.ids import new_uuid

_JSON_BYTES_MAX: Final = 1024 * 1024  # six bytes for each character that JSON escapes
_SEALED_BYTES_MAX: Final = 1024 * 1024
_SCRIPT_BYTES_MAX: Final = 64 * 1024
_WORDS_MAX: Final = 256
_SHM_MB_MAX: Final = 64 * 1024
_LISTS: Final = ("command", "args", "entrypoint", "secret_names")


def _is_json(column: str, kind: str) -> "Exact[str]":
    """Return the condition that a JSON column holds this type."""
    return Exact(Func(F(column), function="jsonb_typeof", output_field=models.CharField()), Value(kind))


def _bytes_at_most(column: str, most: int) -> "LessThanOrEqual[int]":
    template = "%(function)s((%(expressions)s)::text)"
    text = Func(F(column), function="octet_length", template=template, output_field=models.IntegerField())
    return LessThanOrEqual(text, Value(most))


def _arguments_at_most(column: str) -> "LessThanOrEqual[int]":
    count = Func(F(column), function="jsonb_array_length", output_field=models.IntegerField())
    return LessThanOrEqual(count, Value(_WORDS_MAX))


class Launch(models.Model):
    """What runs in an instance; agreed with a quote, and never changed afterwards.

    Other settings for an instance are another row, so an order keeps what was agreed. The secrets are erased once no
    quote and no instance that is not gone can use them; their names stay.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    renter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    env = models.JSONField(default=dict)
    secret_names = models.JSONField(default=list)
    sealed_secrets = models.BinaryField(default=b"", help_text="The secrets as an object in JSON, encrypted; empty: none.")
    command = models.JSONField(default=list)
    args = models.JSONField(default=list)
    entrypoint = models.JSONField(default=list)
    workdir = models.CharField(max_length=1024, blank=True)
    user = models.CharField(max_length=32, blank=True)
    shm_mb = models.PositiveIntegerField(null=True, blank=True)
    on_start = models.TextField(blank=True)
    readiness = models.JSONField(null=True, blank=True)
    digest = models.CharField(max_length=64, help_text="Keyed digest of all settings, secrets included.")
    secrets_digest = models.CharField(max_length=64, blank=True, help_text="Keyed digest of the secrets; empty: none.")
    created_at = models.DateTimeField(default=clock.now)
    erased_at = models.DateTimeField(null=True, blank=True, help_text="When the secrets were erased.")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=_is_json("env", "object"), name="launch_env_is_object"),
            models.CheckConstraint(condition=_bytes_at_most("env", _JSON_BYTES_MAX), name="launch_env_size"),
            *[models.CheckConstraint(condition=_is_json(name, "array"), name=f"launch_{name}_is_list") for name in _LISTS],
            *[models.CheckConstraint(condition=_arguments_at_most(name), name=f"launch_{name}_length") for name in _LISTS],
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("sealed_secrets"), Value(_SEALED_BYTES_MAX)), name="launch_secrets_size"
            ),
            models.CheckConstraint(
                condition=Q(sealed_secrets=b"", secrets_digest="")
                | Q(sealed_secrets=b"", erased_at__isnull=False)
                | ~Q(sealed_secrets=b"") & ~Q(secrets_digest="") & Q(erased_at__isnull=True),
                name="launch_secrets_are_whole",
            ),
            models.CheckConstraint(condition=Q(workdir="") | Q(workdir__startswith="/"), name="launch_workdir_absolute"),
            models.CheckConstraint(
                condition=Q(shm_mb__isnull=True) | Q(shm_mb__gte=1, shm_mb__lte=_SHM_MB_MAX), name="launch_shm_size"
            ),
            models.CheckConstraint(condition=_bytes_at_most("on_start", _SCRIPT_BYTES_MAX), name="launch_on_start_size"),
            models.CheckConstraint(
                condition=Q(readiness__isnull=True) | Q(_is_json("readiness", "object")), name="launch_readiness_is_object"
            ),
            models.CheckConstraint(condition=Q(digest__regex="^[0-9a-f]{64}$"), name="launch_digest_form"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["created_at"], condition=~Q(sealed_secrets=b""), name="launch_with_secrets"),
        ]

    def __str__(self) -> str:
        return f"launch settings {self.id}"


class LaunchStatus(models.Model):
    """What an instance's host reported last of its start script and readiness check; it never changes billing."""

    instance = models.OneToOneField("Instance", on_delete=models.CASCADE, primary_key=True, related_name="launch_status")
    generation = models.PositiveIntegerField(help_text="The run that this is about.")
    on_start = models.CharField(max_length=8, blank=True, help_text="running, ended or lost; empty: there is none.")
    exit_code = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Of the start script.")
    ready = models.CharField(max_length=10, blank=True, help_text="ready, starting or not_ready; empty: there is no check.")
    ready_at = models.DateTimeField(null=True, blank=True, help_text="When it was first ready in this run.")
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(on_start__in=["", "running", "ended", "lost"]), name="launch_status_on_start"
            ),
            models.CheckConstraint(
                condition=Q(ready__in=["", "starting", "ready", "not_ready"]), name="launch_status_ready"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instance_id}: {self.on_start or '-'}, {self.ready or '-'}"
