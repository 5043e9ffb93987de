"""Labels of the admin pages say plainly what each field holds."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("instances", "0030_udp_ports")]

    operations: ClassVar = [
        NameModels(
            fields={
                "faultreport": {"run_generation": "run generation", "began_at": "running since"},
                "instance": {
                    "archive_choice": "archive setting",
                    "archive_tried_at": "last archive attempt",
                    "root_number": "system disk number",
                    "roots_made": "system disks created",
                    "root_generation": "system disk generation",
                    "former_root": "previous system disk",
                    "former_image": "previous image",
                    "former_launch": "previous launch settings",
                    "cpu_only": "running without GPU",
                    "cpu_micros_per_hour": "price without GPU, per hour (micro-units)",
                    "setback_code": "rollback code",
                    "setback_detail": "rollback detail",
                    "run_generation": "run generation",
                    "data_disk_made": "data disk created",
                    "holds_gpus": "keeps GPUs",
                    "tiers": "tiers by hours of use",
                    "spot_max_micros": "max spot price (micro-units)",
                    "brought_root": "initial system disk",
                    "ports_from_generation": "ports set in generation",
                    "failure_code": "failure code",
                    "failure_detail": "failure detail",
                    "fault_of": "responsible party",
                    "release_at": "scheduled release at",
                    "cut_off_since": "unreachable since",
                    "cut_off_by": "unreachable because of",
                },
                "watch": {"place": "queue position", "mailed_at": "email sent at"},
            },
            names={"faultreport": ("fault report", "fault reports")},
            choices={
                "alert": {
                    "kind": [
                        ("gpu_idle", "GPUs idle"),
                        ("disk_full", "data disk almost full"),
                        ("inodes_full", "data disk almost out of inodes"),
                        ("memory_high", "memory almost full"),
                        ("out_of_memory", "a program ran out of memory"),
                        ("gpu_fault", "GPU fault"),
                        ("path_broken", "unreachable because of the host"),
                        ("data_lost", "disk problem on the host"),
                        ("paused", "paused by the host"),
                        ("throttled", "limited by the host"),
                    ]
                },
                "alertmute": {
                    "kind": [
                        ("gpu_idle", "GPUs idle"),
                        ("disk_full", "data disk almost full"),
                        ("inodes_full", "data disk almost out of inodes"),
                        ("memory_high", "memory almost full"),
                        ("out_of_memory", "a program ran out of memory"),
                        ("gpu_fault", "GPU fault"),
                        ("path_broken", "unreachable because of the host"),
                        ("data_lost", "disk problem on the host"),
                        ("paused", "paused by the host"),
                        ("throttled", "limited by the host"),
                    ]
                },
            },
        )
    ]
