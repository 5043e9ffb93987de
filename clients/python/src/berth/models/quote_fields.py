# Generated from the OpenAPI document by `make client`. Do not edit.

"""Fields of `POST /quotes`."""

QUOTE_FIELDS = frozenset(
    (
        "env",
        "secrets",
        "command",
        "args",
        "entrypoint",
        "workdir",
        "user",
        "shm_mb",
        "on_start",
        "readiness",
        "launch_template",
        "inputs",
        "offer",
        "instance",
        "gpu_count",
        "billing_mode",
        "image",
        "data_disk_gb",
        "term",
        "payment",
        "max_price",
        "hours",
        "allow_from",
    )
)
