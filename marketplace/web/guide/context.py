"""Template context of the pages of guide, ranking and advisor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import Http404
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from common.errors import DomainError
from common.ids import public_id
from marketplace.advisor.formatting import format_hours
from marketplace.advisor.recommend import Advice, advise
from marketplace.advisor.selectors import Run, plans_on_market, runs_for
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.guide.topics import TOPICS
from marketplace.search.gpu_ranking import RANKINGS, ModelOnMarket, ranked
from marketplace.search.messages import LENGTH_LABELS, MODE_LABELS
from marketplace.web.guide.forms import PRESET_NAMES, AdvisorForm, form_of, preset_of
from marketplace.web.search.language.query_string import write_params

_RUNS: Final = 8
_PLANS: Final = 4
_DAY_HOURS: Final = 24.0
_LEAST_HOURS: Final = 0.01


_BY_SLUG: Final = {topic.slug: topic for topic in TOPICS}


def guide_context() -> dict[str, Any]:
    best = [one for one in ranked("value") if one.value][:_RUNS]
    return {"topics": TOPICS, "best": best, "most": _most(best)}


def topic_context(slug: str, params: Mapping[str, Any]) -> dict[str, Any]:
    topic = _BY_SLUG.get(slug)
    if topic is None:
        raise Http404
    language = "zh" if (get_language() or "").startswith("zh") else "en"
    context = {"topics": TOPICS, "topic": topic, "prose": f"guide/{language}/{slug}.html"}
    return context | (_table(params) if slug == "gpus" else {})


def _table(params: Mapping[str, Any]) -> dict[str, Any]:
    sort = str(params.get("sort", "fp16"))
    sort = sort if sort in RANKINGS else "fp16"
    models = ranked(sort)
    return {"models": models, "sort": sort, "most": _most(models)}


def _most(models: Sequence[ModelOnMarket]) -> dict[str, float]:
    """Return the longest bars of the table."""
    return {
        "fp16": max((one.model.fp16_tflops or 0 for one in models), default=0),
        "value": max((one.value or 0 for one in models), default=0),
    }


@dataclass(frozen=True)
class Refusal:
    """Reason for missing advice, in the reader's language."""

    title: str
    advice: str


def advisor_context(params: Mapping[str, Any]) -> dict[str, Any]:
    form = form_of(params)
    context: dict[str, Any] = {"form": form, "presets": PRESET_NAMES, "preset": preset_of(form), "query": _query(form)}
    context |= {"mode_labels": MODE_LABELS, "length_labels": LENGTH_LABELS}
    work = form.work()
    if work is None:
        return context
    try:
        advice = advise(work)
    except DomainError as error:
        return context | {"refused": _refusal(error)}
    found = runs_for(advice, limit=_RUNS)
    plans = [(plan, write_params(plan.query)) for plan in plans_on_market(advice, limit=_PLANS)]
    context |= {"advice": advice, "found": found, "plans": plans, "search": write_params(advice.query)}
    return context | {"calculator": _calculator_query(advice, found.runs[0]) if found.runs else ""}


def _calculator_query(advice: Advice, run: Run) -> str:
    """Return the calculator's parameters for the cheapest run; a day where its length is unknown."""
    hours = _DAY_HOURS if run.hours is None else max(run.hours, _LEAST_HOURS)
    options = {"hours": f"{hours:.2f}", "gpu_count": advice.query.gpu_count, "data_disk_gb": advice.query.data_disk_gb}
    return urlencode({"offer": public_id("offr", run.offer["id"]), **options})


def _query(form: AdvisorForm) -> str:
    """Return the parameters that show the same advice again."""
    preset = preset_of(form)
    if preset:
        return urlencode({"preset": preset})
    return urlencode({name: value for name in form.fields if (value := form[name].value()) not in (None, "")})


def _refusal(error: DomainError) -> Refusal:
    extra = error.extra
    match error.code:
        case "too_large":
            title = _("No single host has enough GPU memory")
            advice = _(
                "Even split across %(gpu_count)s GPUs, each would need %(vram_gb)s GB, and the largest GPU has "
                "%(largest_gb)s GB. Choose a smaller model or batch, a lower precision, or LoRA instead of full "
                "fine-tuning."
            )
        case "deadline_too_short" if extra.get("least_hours") is not None:
            title = _("No single host can finish this in time")
            named = {
                "least": format_hours(float(str(extra["least_hours"]))),
                "gpu_model": by_slug(str(extra["gpu_model"])).name,
            }
            extra = {**extra, **named}
            advice = _(
                "The fastest option, %(gpu_count)s × %(gpu_model)s, needs about %(least)s. Allow more time, or "
                "reduce the workload."
            )
        case "deadline_too_short":
            title = _("No single host can finish this in time")
            advice = _("Performance data is missing for the GPUs with enough memory.")
        case _:
            title, advice = (
                _("No data disk is large enough"),
                _("You would need %(disk_gb)s GB. Keep cold data in object storage."),
            )
    return Refusal(title, advice % extra)
