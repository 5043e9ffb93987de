"""Laws of the advisor for works of any size: more work never needs less, and what is advised suffices."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from common.errors import DomainError
from marketplace.advisor.candidate_plans import COUNTS, TooLarge, plans_for
from marketplace.advisor.compute import hours_on, total_flops
from marketplace.advisor.machine_types import machine_for
from marketplace.advisor.memory import GB, memory_of
from marketplace.advisor.recommend import Advice, advise
from marketplace.advisor.workload import Family, Precision, Task, Workload
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.search.language.parser import parse_line, write_line

LAWFUL = [
    (task, family, precision)
    for task in Task
    for family in Family
    for precision in Precision
    if (precision in (Precision.FP32, Precision.FP16) or task in (Task.LORA, Task.INFER))
    and (task, family) != (Task.LORA, Family.VISION)
]


@st.composite
def works(draw: st.DrawFn) -> Workload:
    task, family, precision = draw(st.sampled_from(LAWFUL))
    return Workload(
        task=task,
        family=family,
        precision=precision,
        parameters=draw(st.integers(100_000, 500_000_000_000)),
        batch=draw(st.integers(1, 2048)),
        sequence=draw(st.integers(1, 32_768)),
        pixels=draw(st.integers(16, 2048)),
        layers=draw(st.sampled_from([0, 12, 80])),
        hidden=draw(st.sampled_from([0, 768, 8192])),
        kv_share=draw(st.integers(1, 100)),
        recompute=draw(st.booleans()),
        items=draw(st.integers(0, 10**12)),
        epochs=draw(st.integers(1, 100)),
        dataset_gb=draw(st.integers(0, 5000)),
    )


def advised(work: Workload) -> Advice | None:
    try:
        return advise(work)
    except DomainError:
        return None


@settings(max_examples=150, deadline=None)
@given(works(), st.sampled_from(["parameters", "batch", "sequence", "pixels"]), st.integers(1, 20))
def test_a_larger_work_needs_no_less_memory(work: Workload, figure: str, factor: int) -> None:
    larger = replace(work, **{figure: getattr(work, figure) * factor})
    for count in COUNTS:
        assert memory_of(larger).per_gpu(count) >= memory_of(work).per_gpu(count) * (1 - 1e-12)


@settings(max_examples=100, deadline=None)
@given(works(), st.sampled_from(["parameters", "batch", "sequence", "pixels"]), st.integers(2, 10))
def test_a_larger_work_is_advised_no_less_memory_altogether(work: Workload, figure: str, factor: int) -> None:
    small, large = advised(work), advised(replace(work, **{figure: getattr(work, figure) * factor}))
    assume(small is not None and large is not None)
    assert small
    assert large
    assert large.needs.vram_total_gb >= small.needs.vram_total_gb
    assert large.plan.gpu_count * large.plan.card_gb >= small.plan.gpu_count * small.plan.vram_gb


@settings(max_examples=100, deadline=None)
@given(works(), st.sampled_from(["parameters", "items", "epochs"]), st.integers(1, 10))
def test_more_work_takes_no_less_time(work: Workload, figure: str, factor: int) -> None:
    larger = replace(work, **{figure: getattr(work, figure) * factor})
    assert total_flops(larger) >= total_flops(work)
    hours = [hours_on(each, by_slug("a100"), count=1, size_gb=80) for each in (work, larger)]
    if hours[0] is not None and hours[1] is not None:
        assert hours[1] >= hours[0] * (1 - 1e-12)


@settings(max_examples=100, deadline=None)
@given(works(), st.integers(0, 3))
def test_more_gpus_hold_less_each_and_end_sooner(work: Workload, place: int) -> None:
    memory, few, many = memory_of(work), COUNTS[place], COUNTS[place + 1]
    assert memory.per_gpu(many) <= memory.per_gpu(few) * (1 + 1e-12)
    assert memory.per_gpu(many) * many >= memory.per_gpu(few) * few * (1 - 1e-12)
    hours = [hours_on(work, by_slug("h100-sxm"), count=count, size_gb=80) for count in (few, many)]
    if hours[0] is not None and hours[1] is not None:
        assert hours[1] <= hours[0]


@settings(max_examples=150, deadline=None)
@given(works())
def test_what_is_advised_suffices(work: Workload) -> None:
    advice = advised(work)
    assume(advice is not None)
    assert advice
    memory = memory_of(work)
    for plan in advice.plans:
        assert memory.per_gpu(plan.gpu_count) <= plan.vram_gb * GB <= plan.card_gb * GB
        assert all(fit.size_gb >= plan.vram_gb for fit in plan.fits)
    assert parse_line(write_line(advice.query)) == advice.query
    assert advice.needs.ram_gb >= advice.plan.gpu_count * advice.plan.card_gb
    assert advice.needs.disk_gb >= work.dataset_gb


@settings(max_examples=100, deadline=None)
@given(works(), st.integers(2, 10))
def test_more_data_asks_for_no_smaller_or_slower_disk(work: Workload, factor: int) -> None:
    larger = replace(work, dataset_gb=work.dataset_gb * factor)
    small, large = (machine_for(each, gpu_count=1, card_gb=24, hours=10.0) for each in (work, larger))
    assert large.disk_gb >= small.disk_gb
    assert large.disk_mbps >= small.disk_mbps
    assert set(large.disk_kinds) <= set(small.disk_kinds)


@settings(max_examples=60, deadline=None)
@given(works(), st.floats(0.01, 1000), st.floats(1, 100))
def test_a_later_deadline_is_never_harder(work: Workload, hours: float, factor: float) -> None:
    assume(work.items)
    tight, loose = replace(work, deadline_hours=hours), replace(work, deadline_hours=hours * factor)
    try:
        needed = plans_for(tight)
    except DomainError:
        return
    assert {plan.gpu_count for plan in needed} <= {plan.gpu_count for plan in plans_for(loose)}


@settings(max_examples=60, deadline=None)
@given(works())
def test_a_refusal_is_true(work: Workload) -> None:
    """Too large means that the largest card is too small even in the largest number."""
    try:
        plans_for(work)
    except TooLarge as error:
        assert memory_of(work).per_gpu(max(COUNTS)) > int(str(error.extra["largest_gb"])) * GB
