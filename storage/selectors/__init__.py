"""Which images there are to choose from, and which work hosts have to do."""

from storage.selectors.images import (
    PREFIX,
    active_images,
    find_image,
    image_by_id,
    image_by_slug,
    image_needs,
    login_at,
    needs_of_image,
    pull_of,
    saving_of,
    usable_images,
)
from storage.selectors.operations import (
    OrderRow,
    desired_operations,
    open_operation,
    operations_of,
    operations_open_on,
    operations_overdue,
    operations_to_conclude,
)

__all__ = [
    "PREFIX",
    "OrderRow",
    "active_images",
    "desired_operations",
    "find_image",
    "image_by_id",
    "image_by_slug",
    "image_needs",
    "login_at",
    "needs_of_image",
    "open_operation",
    "operations_of",
    "operations_open_on",
    "operations_overdue",
    "operations_to_conclude",
    "pull_of",
    "saving_of",
    "usable_images",
]
