"""The entry of a start among its renter's orders."""

from billing.constants import INSTANCE_SOURCE
from billing.ledger.order_log import record_order
from instances.models import Instance


def record_start(instance: Instance, *, what: str, billing_mode: str, rate_micros_per_hour: int) -> None:
    """Record the start as an order, once for each run, in the start's own transaction."""
    record_order(
        owner_id=instance.renter_id,
        kind="start",
        key=f"start:{instance.pk.hex}:{instance.run_generation}",
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        title=f"{instance.name}: {what}",
        billing_mode=billing_mode,
        rate_micros_per_hour=rate_micros_per_hour,
    )


def record_start_on_gpus(instance: Instance, *, gpu_model: str) -> None:
    record_start(
        instance,
        what=f"{instance.gpu_count} × {gpu_model}",
        billing_mode=instance.billing_mode,
        rate_micros_per_hour=instance.rate_micros_per_hour,
    )
