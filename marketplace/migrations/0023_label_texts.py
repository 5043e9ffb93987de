"""Labels of the admin pages say plainly what each field holds."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("marketplace", "0022_udp_reached")]

    operations: ClassVar = [
        NameModels(
            fields={
                "epoch": {"backup_at": "backup taken at", "findings": "changes since the backup"},
                "gpu": {"index": "slot"},
                "host": {
                    "hostname": "machine's host name",
                    "disk_samples": "disk measurements",
                    "net_samples": "network measurements",
                    "root_limit": "system disk limit method",
                    "images": "cached images",
                    "engine_age_s": "container engine unresponsive for (s)",
                    "agent_keys": "keys held by the agent",
                    "awaits_epoch": "epoch confirmation pending",
                    "leftovers_of": "leftovers from",
                },
                "jointoken": {"host_name": "host name"},
                "lease": {"promised_until": "committed until", "release_reason": "release reason"},
                "maintenance": {"cancelled_at": "cancelled", "over_at": "ended at", "drained": "closed to new rentals"},
                "offer": {
                    "host_name": "host name",
                    "host_state": "host state",
                    "draining": "closed to new rentals",
                    "disk_kind": "disk type",
                    "disk_samples": "disk measurements",
                    "net_samples": "network measurements",
                    "tiers": "tiers by hours of use",
                    "spot_floor_micros": "spot floor price (micro-units)",
                    "spot_now_micros": "current spot price (micro-units)",
                    "gpu_total": "total GPUs",
                    "gpu_spot": "GPUs leased to spot instances",
                    "cpu_millis_per_gpu": "CPU per GPU (thousandths of a core)",
                    "ram_mb_per_gpu": "memory per GPU (MB)",
                },
                "selftest": {"asked_at": "requested at", "asked_by": "requested by"},
                "sweeprun": {"every_s": "interval (s)", "ended_at": "last run at"},
            },
            names={},
            help_texts={
                "host": {
                    "simulated": "The runtime or the GPUs are simulated.",
                    "listed_until": "Leases end by this time. Leave blank for no end date.",
                    "agent_revoked_at": "The agent is rejected until the host is added again.",
                },
                "hostwriteoff": {"settled_at": "Nothing on the host is left to terminate."},
                "jointoken": {"price_micros": "Initial price per GPU-hour; set per offer afterwards."},
                "offer": {"price_micros": "Micro-units per GPU-hour."},
                "selftest": {"simulated": "Some of the data was simulated, not measured."},
            },
        )
    ]
