"""Registration of the app with Django."""

from django.apps import AppConfig
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _


class BillingConfig(AppConfig):
    name = "billing"
    label = "billing"
    verbose_name = _("Money")

    def ready(self) -> None:
        """Register the currency check and signal handler by import path, as no models exist at import time."""
        register(import_string("billing.checks.check_currency"), Tags.database)
        post_migrate.connect(
            import_string("billing.ledger.currency.record_currency"), sender=self, dispatch_uid="billing.note_currency"
        )
