"""Self-tests of the world's hosts: passed, failed in several points, simulated, under way, never answered."""

from collections.abc import Mapping
from datetime import timedelta

from common import clock
from marketplace.models import Host, SelfTest
from marketplace.self_tests.requirements import CheckRow
from marketplace.self_tests.services import request_self_test, run_self_test_sweep
from tests.marketplace.answers import but, good_rows, put_to_test


def add_self_tests(hosts: Mapping[str, Host]) -> None:
    for name in ("lab-03", "hpc-a1", "hpc-h2"):
        put_to_test(hosts[name], at=clock.now() - timedelta(hours=3))
    attic = hosts["attic"]
    rows = but(good_rows(attic), "disk_write", value=61.0, actual="61 MB/s")
    rows = but(rows, "clock", value=41.0, actual="+41.000 s")
    rows = but(rows, "engine_version", passed=False, actual="19.03.8")
    first, second = [gpu.uuid for gpu in attic.gpus.all()]
    why = "Not measured (libcuda.so.1 cannot be loaded); by NVML's cores and clock: 13.4 TFLOPS nominal"
    rows = but(rows, "gpu_compute", gpu=first, value=None, reason="not_measurable", actual=why)
    rows = but(rows, "gpu_exclusive", gpu=second, passed=False, actual="2 programs of others")
    put_to_test(attic, [_worded(row) for row in rows])
    put_to_test(hosts["sim-eu-1"], good_rows(hosts["sim-eu-1"], simulated=True))
    expiring = request_self_test(actor_id=attic.owner_id, host_id=hosts["sim-us-2"].pk)
    SelfTest.objects.filter(pk=expiring.pk).update(asked_at=clock.now() - timedelta(hours=1))
    Host.objects.update(last_seen_at=clock.now() - timedelta(minutes=2))  # nobody is due while the sweep expires it
    run_self_test_sweep(now=clock.now())
    Host.objects.update(last_seen_at=clock.now())
    request_self_test(actor_id=attic.owner_id, host_id=hosts["sh-gpu-12"].pk)


def _worded(row: CheckRow) -> CheckRow:
    """As an agent words it, where the test's answer left that out."""
    return row if row.actual else CheckRow(**{**vars(row), "actual": f"{row.value:g} {row.unit}"})
