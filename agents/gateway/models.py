"""Tables of the agents' identities and of refused messages."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock


class AgentIdentity(models.Model):
    """Public key of a host's agent, and the last sequence number of its present boot."""

    host = models.OneToOneField(
        "marketplace.Host", on_delete=models.CASCADE, primary_key=True, related_name="+", verbose_name=_("host")
    )
    public_key = models.CharField(_("public key"), max_length=64)
    boot_id = models.CharField(_("agent start ID"), max_length=40, blank=True)
    last_sequence = models.BigIntegerField(_("last message"), default=0)
    facts_known = models.BooleanField(_("facts received"), default=False, help_text="This boot has sent the host's facts.")
    join_hash = models.CharField(
        _("hash of the join token"), max_length=64, blank=True, help_text="SHA-256 of the join token that made this host."
    )
    # Speed tests run at the same time as syncs, so they are counted separately: otherwise the slower of two requests
    # would be refused as a replay.
    speed_sequence = models.BigIntegerField(_("last measured speed"), default=0)
    speed_count = models.PositiveIntegerField(_("measured speeds"), default=0, help_text="Speed tests since `speed_since`.")
    speed_since = models.DateTimeField(_("speeds measured since"), default=clock.now)
    enrolled_at = models.DateTimeField(_("enrolled at"), default=clock.now)

    class Meta:
        verbose_name = _("agent identity")
        verbose_name_plural = _("agent identities")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(public_key__regex=r"^[0-9a-f]{64}$"), name="agent_key_is_ed25519"),
        ]

    def __str__(self) -> str:
        return str(self.host_id)


class SupersededBoot(models.Model):
    """Earlier start of an agent with its last sequence number.

    A message of that boot with a higher number comes from a second agent with the same identity; any other is a
    replay.
    """

    id = models.BigAutoField(primary_key=True)
    identity = models.ForeignKey(AgentIdentity, on_delete=models.CASCADE, related_name="superseded_boots")
    boot_id = models.CharField(max_length=40)
    last_sequence = models.BigIntegerField()
    superseded_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["identity", "boot_id"], name="one_row_per_boot")]

    def __str__(self) -> str:
        return self.boot_id


class RefusedMessage(models.Model):
    """Refused message of an agent, with the reason: unsigned, forged, replayed, or of another host."""

    id = models.BigAutoField(primary_key=True)
    claimed_host = models.CharField(_("claimed host"), max_length=80)
    reason = models.CharField(_("reason"), max_length=40)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    remote_address = models.CharField(_("source address"), max_length=64, blank=True)
    at = models.DateTimeField(_("time"), default=clock.now)

    class Meta:
        verbose_name = _("refused message")
        verbose_name_plural = _("refused messages")
        ordering = ("-id",)
        indexes: ClassVar = [models.Index(fields=["remote_address", "at"], name="refused_by_address")]

    def __str__(self) -> str:
        return f"{self.reason} {self.claimed_host}"
