"""Columns of an instance with other launch settings."""

from collections.abc import Mapping
from typing import Any

from instances.models import Instance
from instances.orders.launch_compatibility import changed_launch


def launch_fields(instance: Instance, changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns for changed launch settings; none if nothing changes."""
    launch = changed_launch(instance.launch, changes, instance)
    return {} if launch is instance.launch else {"launch_id": None if launch is None else launch.pk}
