"""Works whose needs are known from practice and from the papers."""

from dataclasses import replace

import pytest

from common.errors import InvalidInput
from marketplace.advisor.candidate_plans import DeadlineTooShort, TooLarge, best_of, plans_for
from marketplace.advisor.compute import hours_on, tokens_per_second, total_flops
from marketplace.advisor.memory import GB, memory_of, transformer_shape
from marketplace.advisor.recommend import DiskTooLarge, advise
from marketplace.advisor.workload import PRESETS, Family, Precision, Task, Workload
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.search.language.fields import Condition, Op
from marketplace.search.language.parser import parse_line, write_line

LLAMA_7B = Workload(task=Task.INFER, parameters=6_740_000_000, layers=32, hidden=4096, sequence=4096)
GPT3 = Workload(task=Task.INFER, parameters=175_000_000_000, layers=96, hidden=12_288, sequence=2048)


def gigabytes(work: Workload) -> float:
    return memory_of(work).total / GB


def smallest_card(work: Workload) -> int:
    """Of one GPU alone."""
    return plans_for(work, counts=[1])[0].card_gb


def test_bert_base_is_fine_tuned_on_8_gb() -> None:
    assert gigabytes(PRESETS["bert-base"]) <= 8
    assert advise(PRESETS["bert-base"]).plan.gpu_count == 1


def test_7b_in_fp16_takes_14_gb_and_its_cache() -> None:
    memory = memory_of(LLAMA_7B)
    assert memory.weights / GB == pytest.approx(13.5, abs=0.5)
    assert memory.cache / GB == pytest.approx(2.15, abs=0.01)  # 512 KB a token
    assert 16 < memory.total / GB < 20
    assert smallest_card(LLAMA_7B) <= 24


def test_175b_is_never_on_one_card() -> None:
    for precision in (Precision.FP32, Precision.FP16, Precision.INT8, Precision.INT4):
        work = replace(GPT3, precision=precision)
        assert gigabytes(work) > 80
        plan = advise(work).plan
        assert plan.gpu_count * plan.card_gb > 80
        assert plan.gpu_count > 1
    with pytest.raises(TooLarge):
        plans_for(GPT3, counts=[1])


def test_175b_is_trained_on_no_single_host_of_8_times_80_gb() -> None:
    work = Workload(task=Task.TRAIN, parameters=175_000_000_000)
    assert gigabytes(work) > 2_800
    with pytest.raises(TooLarge) as refusal:
        plans_for(work, models=[by_slug("h100-sxm")], counts=[1, 2, 4, 8])
    assert refusal.value.status == 422
    assert refusal.value.code == "too_large"
    assert refusal.value.extra["largest_gb"] == 80


def test_7b_fine_tuned_in_full_needs_more_than_100_gb() -> None:
    assert gigabytes(PRESETS["finetune-7b"]) > 100
    plan = advise(PRESETS["finetune-7b"]).plan
    assert (plan.gpu_count, plan.card_gb) == (2, 80)


@pytest.mark.parametrize("precision", [Precision.FP16, Precision.INT8, Precision.INT4])
def test_7b_is_adapted_on_24_gb(precision: Precision) -> None:
    assert smallest_card(replace(LLAMA_7B, task=Task.LORA, sequence=2048, precision=precision)) <= 24


def test_qlora_of_7b_fits_12_gb_and_of_65b_48_gb() -> None:
    """As Dettmers et al. report."""
    assert smallest_card(PRESETS["qlora-7b"]) <= 12
    big = Workload(task=Task.LORA, precision=Precision.INT4, parameters=65_000_000_000, layers=80, hidden=8192, sequence=512)
    assert smallest_card(big) <= 48


def test_resnet_50_at_batch_256_fits_24_gb_but_not_12() -> None:
    assert 12 < gigabytes(PRESETS["resnet-50"]) < 24
    assert gigabytes(replace(PRESETS["resnet-50"], precision=Precision.FP32)) > 24
    assert gigabytes(replace(PRESETS["resnet-50"], batch=32)) < 4


def test_resnet_50_takes_a_v100_about_a_day() -> None:
    """90 epochs at some 1,000 to 1,300 images a second."""
    hours = hours_on(PRESETS["resnet-50"], by_slug("v100"), count=1, size_gb=16)
    assert hours is not None
    assert 20 < hours < 36


def test_stable_diffusion_draws_on_8_gb_and_learns_on_24() -> None:
    draw = replace(PRESETS["stable-diffusion"], batch=1)
    assert gigabytes(draw) < 6
    assert smallest_card(replace(draw, task=Task.FINETUNE)) <= 24
    assert smallest_card(replace(draw, task=Task.LORA)) <= 12


def test_gpt3_took_its_paper_s_flops() -> None:
    """Brown et al., table D.1: 3.14e23 for 175 B parameters and 300 B tokens."""
    work = Workload(task=Task.TRAIN, parameters=174_600_000_000, items=300_000_000_000, recompute=False)
    assert total_flops(work) == pytest.approx(3.14e23, rel=0.01)


def test_the_estimated_shape_is_a_gpts() -> None:
    layers, hidden = transformer_shape(replace(GPT3, layers=0, hidden=0))
    assert layers == pytest.approx(96, rel=0.02)
    assert hidden == pytest.approx(12_288, rel=0.02)
    assert transformer_shape(replace(GPT3, hidden=0))[1] == pytest.approx(12_288, rel=0.02)
    assert transformer_shape(replace(GPT3, layers=0))[0] == pytest.approx(96, rel=0.02)


def test_a_single_conversation_is_paced_by_bandwidth() -> None:
    """A 3090 reads 13.5 GB 49 times a second at 70 %; H100 and A100 differ by their bandwidth, not by their TFLOPS."""
    alone = replace(LLAMA_7B, batch=1, sequence=128)
    assert tokens_per_second(alone, by_slug("rtx-3090"), count=1, size_gb=24) == pytest.approx(48, rel=0.1)
    fast, slow = (tokens_per_second(alone, by_slug(slug), count=1, size_gb=80) for slug in ("h100-sxm", "a100"))
    assert fast
    assert slow
    assert fast / slow == pytest.approx(3350 / 2039, rel=0.01)


def test_grouped_heads_shrink_the_cache_alone() -> None:
    whole, grouped = memory_of(LLAMA_7B), memory_of(replace(LLAMA_7B, kv_share=25))
    assert grouped.cache == pytest.approx(whole.cache / 4)
    assert grouped.weights == whole.weights


def test_an_encoder_has_no_cache_and_vision_no_recomputing() -> None:
    assert memory_of(replace(LLAMA_7B, family=Family.ENCODER)).cache == 0
    vision = PRESETS["resnet-50"]
    assert memory_of(vision).total == memory_of(replace(vision, recompute=False)).total
    assert total_flops(vision) == total_flops(replace(vision, recompute=False))


# -- deadlines


def test_a_deadline_asks_for_faster_or_more_gpus() -> None:
    day = advise(replace(PRESETS["resnet-50"], deadline_hours=24.0))
    hour = advise(replace(PRESETS["resnet-50"], deadline_hours=1.0))
    assert day.plan.gpu_count <= hour.plan.gpu_count
    assert all(fit.hours is not None and fit.hours <= 1 for fit in hour.plan.fits)
    listed = next(each for each in hour.query.conditions if each.term == "gpu")
    assert set(listed.value) == {fit.model.slug for fit in hour.plan.fits}  # type: ignore[arg-type]


def test_an_impossible_deadline_says_the_least_time() -> None:
    with pytest.raises(DeadlineTooShort) as refusal:
        advise(replace(PRESETS["resnet-50"], deadline_hours=0.05))
    error = refusal.value
    assert (error.code, error.status) == ("deadline_too_short", 422)
    least = float(str(error.extra["least_hours"]))
    assert advise(replace(PRESETS["resnet-50"], deadline_hours=least + 0.001)).plan.gpu_count == error.extra["gpu_count"]


def test_a_deadline_without_known_speeds_is_refused() -> None:
    with pytest.raises(DeadlineTooShort) as refusal:
        plans_for(
            replace(PRESETS["qlora-7b"], deadline_hours=24.0),
            models=[replace(by_slug("t4"), fp32_tflops=None, fp16_tflops=None)],
        )
    assert refusal.value.extra["least_hours"] is None


def test_a_data_set_beyond_every_disk_is_refused() -> None:
    with pytest.raises(DiskTooLarge) as refusal:
        advise(replace(PRESETS["resnet-50"], dataset_gb=900_000))
    assert refusal.value.code == "disk_too_large"


# -- contradictions


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"precision": Precision.INT8}, "precision"),
        ({"precision": Precision.INT4, "task": Task.TRAIN}, "precision"),
        ({"task": Task.LORA, "family": Family.VISION}, "task"),
        ({"deadline_hours": 5.0}, "items"),
        ({"deadline_hours": 0.0, "items": 1}, "deadline_hours"),
        ({"parameters": 1}, "parameters"),
        ({"batch": 0}, "batch"),
        ({"sequence": 10**9}, "sequence"),
    ],
)
def test_contradictions_name_their_field(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        advise(replace(Workload(), **changes))  # type: ignore[arg-type]
    assert [error.field for error in refusal.value.errors] == [field]


# -- the query


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_ends_in_a_search_that_can_be_written_down(preset: str) -> None:
    advice = advise(PRESETS[preset])
    assert parse_line(write_line(advice.query)) == advice.query
    assert advice.query.gpu_count == advice.plan.gpu_count
    assert {"vram", "cpu", "ram", "disk_free", "architecture"} <= {each.term for each in advice.query.conditions}
    assert all(step.title and step.result and step.reason and step.sources for step in advice.steps)
    assert advice.plan == best_of(advice.plans)


def test_the_search_asks_for_what_the_steps_say() -> None:
    advice = advise(PRESETS["chat-70b"])
    conditions = {(each.term, each.op): each.value for each in advice.query.conditions}
    assert conditions["vram", Op.GE] == advice.plan.vram_gb
    assert Condition("disk", Op.EQ, "nvme") in advice.query.conditions  # 140 GB are to load in two minutes
    assert advice.query.data_disk_gb == advice.needs.disk_gb
    assert "Kepler" not in str(conditions["architecture", Op.IN])


def test_known_amounts_sort_by_value_and_unknown_ones_by_price() -> None:
    assert advise(PRESETS["resnet-50"]).query.sort == "-value"
    assert advise(PRESETS["chat-7b"]).query.sort == "price"


def test_other_vendors_are_never_advised() -> None:
    slugs = {fit.model.slug for plan in advise(LLAMA_7B).plans for fit in plan.fits}
    assert not slugs & {"mlu-200", "ascend-910"}
