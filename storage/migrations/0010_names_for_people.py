"""Fields and models have names that a panel can show in each language."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0009_printable_names")]

    operations: ClassVar = [
        NameModels(
            fields={
                "dataset": {
                    "published_at": "published at",
                    "published_by": "published by",
                    "snapshot": "snapshot",
                },
                "image": {
                    "active": "in use",
                    "architectures": "architectures",
                    "checked_at": "checked at",
                    "created_at": "created at",
                    "cuda": "CUDA",
                    "description": "description",
                    "digest": "digest",
                    "failure": "failure",
                    "generation": "generation",
                    "has_jupyter": "has JupyterLab",
                    "has_ssh": "has an SSH server",
                    "has_tensorboard": "has TensorBoard",
                    "host": "host",
                    "named_as": "named as",
                    "official": "official",
                    "owner": "owner",
                    "private": "private",
                    "reference": "reference",
                    "registry": "registry",
                    "saved_from": "saved from",
                    "shared": "shared as",
                    "shared_at": "shared at",
                    "size_bytes": "size (bytes)",
                    "slug": "short name",
                    "source": "source",
                    "title": "title",
                    "use_count": "times rented",
                    "version": "version",
                },
                "snapshot": {
                    "checksum": "checksum",
                    "created_at": "created at",
                    "deleted_at": "deleted at",
                    "failure_code": "code of the failure",
                    "failure_detail": "detail of the failure",
                    "generation": "generation",
                    "host": "host",
                    "micros_gb_day": "price per GB and day (micro-units)",
                    "owner": "owner",
                    "ready_at": "ready at",
                    "size_gb": "size (GB)",
                    "source_id": "ID of the source",
                    "source_name": "name of the source",
                    "stored_bytes": "stored bytes",
                    "unpaid_since": "unpaid since",
                },
                "volume": {
                    "created_at": "created at",
                    "deleted_at": "deleted at",
                    "failure_code": "code of the failure",
                    "failure_detail": "detail of the failure",
                    "generation": "generation",
                    "host": "host",
                    "micros_per_day": "price per day (micro-units)",
                    "owner": "owner",
                    "snapshot": "snapshot",
                    "unpaid_since": "unpaid since",
                },
                "volumemove": {
                    "carried_bytes": "bytes to transfer",
                    "checksum": "checksum",
                    "created_at": "created at",
                    "cuts": "interruptions",
                    "ended_at": "ended at",
                    "failure_code": "code of the failure",
                    "failure_detail": "detail of the failure",
                    "from_host": "from the host",
                    "generation": "generation",
                    "kind": "kind",
                    "micros_per_day": "price per day (micro-units)",
                    "owner": "owner",
                    "source": "source",
                    "switched_at": "switched at",
                    "target": "target",
                    "to_host": "to the host",
                    "waits_for": "waits for",
                },
            },
            names={
                "image": ("image", "images"),
            },
        )
    ]
