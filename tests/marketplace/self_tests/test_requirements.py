"""The market's bounds, applied to single findings."""

from typing import Any

import pytest
from django.utils.translation import override

from marketplace.gpu_catalogue.catalogue import MODELS
from marketplace.self_tests.requirements import REQUIREMENTS, CheckRow, evaluated_check, remedy_of, title_of

GPU = "GPU-1"
MODEL = {GPU: ("rtx-4090", 24_564)}


def judged(row: CheckRow, models: dict[str, tuple[str, int]] | None = None) -> dict[str, Any]:
    return evaluated_check(row, models=MODEL if models is None else models)


@pytest.mark.parametrize(
    ("name", "value", "passed"),
    [
        ("disk_read", 99.9, False),
        ("disk_read", 100.0, True),
        ("disk_free", 49.9, False),
        ("disk_free", 50.0, True),
        ("network_up", 9.99, False),
        ("network_up", 10.0, True),
        ("clock", 5.0, True),
        ("clock", 5.01, False),
        ("gpu_present", 1.0, True),
        ("gpu_present", 2.0, False),
        ("gpu_present", 0.0, False),
        ("disk_random_read", 1.0, True),
    ],
)
def test_a_value_against_its_bound(name: str, value: float, passed: bool) -> None:
    found = judged(CheckRow(name, value=value))
    assert found["passed"] is passed
    assert bool(found["remedy"]) == (not passed)
    if name != "disk_random_read":
        assert found["required"]


@pytest.mark.parametrize(("value", "passed"), [(41.2, False), (41.3, True), (82.6, True), (300.0, True)])
def test_a_gpu_reaches_half_of_its_models_rate(value: float, passed: bool) -> None:
    found = judged(CheckRow("gpu_compute", value=value, gpu=GPU))
    assert (found["passed"], found["required"]) == (passed, "at least 41.3 TFLOPS, half of 82.6")


def test_a_model_without_a_figure_is_not_held_to_one() -> None:
    found = judged(CheckRow("gpu_compute", value=1.0, gpu=GPU), {GPU: ("rtx-9999", 8192)})
    assert (found["passed"], found["required"]) == (True, "no figure in the catalogue")


@pytest.mark.parametrize("model", [model for model in MODELS if model.vram_gb], ids=lambda model: model.slug)
def test_every_size_of_every_model_has_the_memory_of_its_name(model: Any) -> None:
    for size in model.vram_gb:
        reported = round(size * 1024 * 0.935)  # what drivers keep back at most, on the models of the catalogue
        assert (
            judged(CheckRow("gpu_memory", value=float(reported), gpu=GPU), {GPU: (model.slug, reported)})["passed"] is True
        )


@pytest.mark.parametrize("reported", [4096, 12_288, 21_000])
def test_fault_090_a_forged_name_is_found_by_its_memory(reported: int) -> None:
    """The GPU's own word for its size is no yardstick: the name's is."""
    assert judged(CheckRow("gpu_memory", value=float(reported), gpu=GPU), {GPU: ("rtx-4090", reported)})["passed"] is False


def test_an_agents_no_is_never_turned_into_a_yes() -> None:
    assert judged(CheckRow("gpu_compute", False, value=500.0, gpu=GPU))["passed"] is False
    assert judged(CheckRow("engine_version", False, "19.03", "at least 20.10"))["passed"] is False


@pytest.mark.parametrize("name", ["gpu_compute", "disk_read", "network_up", "gpu_memory"])
def test_what_was_not_measured_has_not_passed(name: str) -> None:
    for row in (CheckRow(name, gpu=GPU), CheckRow(name, True, gpu=GPU), CheckRow(name, value=1e6, reason="in_use", gpu=GPU)):
        assert judged(row)["passed"] is None


def test_an_agent_cannot_pass_a_measured_check_by_its_word() -> None:
    assert judged(CheckRow("disk_read", True, value=1.0))["passed"] is False


def test_a_check_that_this_version_does_not_know_is_kept_as_told() -> None:
    found = judged(CheckRow("fan_speed", False, "0 rpm", "1000 rpm", "Clean the fan."))
    assert (found["passed"], found["needed"], found["remedy"]) == (False, False, "Clean the fan.")
    assert title_of("fan_speed") == "fan speed"
    assert remedy_of(found) == "Clean the fan."


def test_a_gpu_of_another_host_has_no_model() -> None:
    assert judged(CheckRow("gpu_memory", value=1.0, gpu="GPU-else"))["passed"] is True, "it counts for no GPU of this host"


def test_texts_are_english_in_the_table_and_the_readers_on_the_page() -> None:
    with override("zh-hans"):
        found = judged(CheckRow("disk_read", value=1.0))
    assert found["remedy"].startswith("Move the agent's folder")


def test_every_needed_check_has_a_remedy_and_a_source() -> None:
    for name, known in REQUIREMENTS.items():
        if known.needed and name != "finished":
            assert known.source and str(known.remedy), name


def test_without_cuda_the_remedy_is_to_install_it() -> None:
    found = judged(CheckRow("gpu_compute", reason="not_measurable", gpu=GPU))
    assert "libcuda" in found["remedy"]
    assert "libcuda" not in judged(CheckRow("gpu_compute", value=1.0, gpu=GPU))["remedy"]
    assert remedy_of(found).startswith("Can't be measured on this machine.")


def test_a_reason_nobody_knows_is_dropped() -> None:
    assert judged(CheckRow("disk_read", reason="because"))["reason"] == ""
