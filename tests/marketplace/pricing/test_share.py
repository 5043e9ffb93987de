"""A GPU's part of CPU and memory: over any shape, the parts never add up to more than there is (fault 12)."""

import random

from hypothesis import given
from hypothesis import strategies as st

from marketplace.pricing.cpu_ram_share import Share, allocatable, share_per_gpu

SHAPES = 100_000


def _check(cpu_cores: int, ram_mb: int, gpu_count: int) -> None:
    whole = allocatable(cpu_cores=cpu_cores, ram_mb=ram_mb)
    share = share_per_gpu(cpu_cores=cpu_cores, ram_mb=ram_mb, gpu_count=gpu_count)
    taken = share.times(gpu_count)
    assert taken.cpu_millis <= whole.cpu_millis <= cpu_cores * 1000
    assert taken.ram_mb <= whole.ram_mb <= ram_mb
    assert whole.cpu_millis - taken.cpu_millis < gpu_count  # no more than the remainder is lost
    assert whole.ram_mb - taken.ram_mb < gpu_count


def test_fault_012_no_shape_is_over_committed() -> None:
    chance = random.Random(12)
    for _ in range(SHAPES):
        _check(chance.randint(1, 1024), chance.randint(1, 8_388_608), chance.randint(1, 64))


@given(cpu=st.integers(1, 10**6), ram=st.integers(1, 10**9), parts=st.lists(st.integers(1, 16), min_size=1, max_size=16))
def test_leases_of_any_size_fit_beside_each_other(cpu: int, ram: int, parts: list[int]) -> None:
    whole = allocatable(cpu_cores=cpu, ram_mb=ram)
    share = share_per_gpu(cpu_cores=cpu, ram_mb=ram, gpu_count=sum(parts))
    for position, part in enumerate(parts):
        assert share.times(part).fits_beside(share.times(sum(parts[:position])), whole)


def test_a_host_without_gpus_has_nothing_to_share() -> None:
    assert share_per_gpu(cpu_cores=8, ram_mb=16_384, gpu_count=0) == Share(0, 0)


def test_a_share_that_does_not_fit_is_told() -> None:
    whole = Share(8000, 15_000)
    assert Share(4000, 7000).fits_beside(Share(4000, 8000), whole)
    assert not Share(4001, 7000).fits_beside(Share(4000, 8000), whole)
    assert not Share(4000, 7001).fits_beside(Share(4000, 8000), whole)
