"""Form of the advisor's page, with round figures such as "7B"."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput
from marketplace.advisor.formatting import format_number
from marketplace.advisor.workload import (
    BOUNDS,
    LEAST_DEADLINE_HOURS,
    MOST_DEADLINE_HOURS,
    PRESETS,
    Family,
    Precision,
    Task,
    Workload,
    check_workload,
)

FIRST_PRESET: Final = "chat-7b"
PRESET_NAMES: Final = {
    "bert-base": _("BERT-base, fine-tune"),
    "chat-7b": _("7B chat, inference"),
    "qlora-7b": _("7B, QLoRA"),
    "lora-13b": _("13B, LoRA"),
    "finetune-7b": _("7B, full fine-tune"),
    "chat-70b": _("70B chat, inference"),
    "resnet-50": _("ResNet-50, train"),
    "stable-diffusion": _("Stable Diffusion, images"),
    "sdxl-lora": _("SDXL, LoRA"),
}
_TASKS: Final = (
    (Task.TRAIN.value, _("Training")),
    (Task.FINETUNE.value, _("Full fine-tuning")),
    (Task.LORA.value, _("LoRA fine-tuning")),
    (Task.INFER.value, _("Inference")),
)
_FAMILIES: Final = (
    (Family.LANGUAGE.value, _("Language model")),
    (Family.ENCODER.value, _("Encoder, such as BERT")),
    (Family.VISION.value, _("Vision, such as ResNet")),
    (Family.DIFFUSION.value, _("Image generation, such as Stable Diffusion")),
)
_PRECISIONS: Final = (
    (Precision.FP32.value, "FP32"),
    (Precision.FP16.value, "FP16/BF16"),
    (Precision.INT8.value, "INT8"),
    (Precision.INT4.value, "INT4"),
)
_YES_NO: Final = (("1", _("Yes")), ("0", _("No")))
_FACTORS: Final = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}
_AMOUNT: Final = re.compile(r"(\d{1,18}(?:\.\d{1,6})?)\s*([kmbgt]?)", re.ASCII)


class AmountField(forms.CharField):
    """A whole number that may be abbreviated: 110M, 6.74B, 2k; empty is 0."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.least, self.most = BOUNDS[name]
        attrs = {"inputmode": "text", "autocomplete": "off", "spellcheck": "false"}
        super().__init__(widget=forms.TextInput(attrs=attrs), max_length=24, **kwargs)

    def clean(self, value: Any) -> Any:
        text = super().clean(value).strip().lower().replace(",", "")
        found = _AMOUNT.fullmatch(text or "0")
        if found is None:
            raise forms.ValidationError(_("Enter a number, such as 500, 110M or 7B."))
        amount = round(float(found[1]) * _FACTORS[found[2]])
        if not self.least <= amount <= self.most:
            bounds = {"least": format_number(self.least), "most": format_number(self.most)}
            raise forms.ValidationError(_("From %(least)s to %(most)s.") % bounds)
        return amount


def _whole(name: str, label: Any, help_text: Any = "") -> forms.IntegerField:
    least, most = BOUNDS[name]
    return forms.IntegerField(label=label, min_value=least, max_value=most, required=False, help_text=help_text)


class AdvisorForm(forms.Form):
    """Form of the workload; omitted fields have `Work`'s defaults."""

    of = forms.CharField(
        required=False, max_length=40, widget=forms.HiddenInput
    )  # the preset to which these layers and this width belong
    task = forms.ChoiceField(label=_("Task"), choices=_TASKS)
    family = forms.ChoiceField(label=_("Model type"), choices=_FAMILIES)
    parameters = AmountField("parameters", label=_("Parameters"))
    precision = forms.ChoiceField(label=_("Precision"), choices=_PRECISIONS)
    batch = _whole("batch", _("Batch size"))
    sequence = _whole("sequence", _("Tokens per sample"))
    pixels = _whole("pixels", _("Image size (pixels)"))
    items = AmountField("items", label=_("Amount per pass"), required=False)
    epochs = _whole("epochs", _("Training epochs"))
    dataset_gb = _whole("dataset_gb", _("Dataset size (GB)"))
    deadline_hours = forms.FloatField(
        label=_("Deadline (hours)"), min_value=LEAST_DEADLINE_HOURS, max_value=MOST_DEADLINE_HOURS, required=False
    )
    layers = _whole("layers", _("Layers"), _("0: estimate from the parameter count"))
    hidden = _whole("hidden", _("Width (hidden size)"), _("0: estimate from the parameter count"))
    kv_share = _whole("kv_share", _("Key-value heads, % of all heads"), _("Grouped-query attention: 8 of 64 heads is 13%."))
    recompute = forms.ChoiceField(label=_("Recompute activations"), choices=_YES_NO, required=False)

    @property
    def is_text(self) -> bool:
        return self["family"].value() in (Family.LANGUAGE, Family.ENCODER)

    @property
    def writes(self) -> bool:
        return self["family"].value() == Family.LANGUAGE and not self.trains

    @property
    def trains(self) -> bool:
        return bool(self["task"].value() != Task.INFER)

    def work(self) -> Workload | None:
        """Return the workload, or None where a field is wrong or contradicts another; the fields have errors."""
        if not self.is_valid():
            return None
        data = {name: value for name, value in self.cleaned_data.items() if name != "of" and value not in (None, "")}
        named = {"task": Task, "family": Family, "precision": Precision}
        data |= {name: kind(data[name]) for name, kind in named.items()}
        work = Workload(**{**data, "recompute": data.get("recompute", "1") == "1"})
        try:
            check_workload(work)
        except InvalidInput as error:
            for wrong in error.errors:
                self.add_error(wrong.field, _CONTRADICTIONS[wrong.field])
            return None
        return work


_CONTRADICTIONS: Final = {
    "precision": _("Training all weights needs FP32 or FP16. INT8 and INT4 are for LoRA and inference."),
    "task": _("LoRA is for language and diffusion models. Use full fine-tuning for this one."),
    "items": _("To meet a deadline, enter the amount of work: tokens or images per pass."),
}


def form_of(params: Mapping[str, Any]) -> AdvisorForm:
    """Return the form of the sent fields, else of the preset in the URL, else of the first preset."""
    if "task" in params:
        return AdvisorForm(_without_old_shape({**fields_of(Workload()), **{name: params[name] for name in params}}))
    preset = params.get("preset", "") if params.get("preset", "") in PRESETS else FIRST_PRESET
    return AdvisorForm({**fields_of(PRESETS[preset]), "of": preset})


def _without_old_shape(fields: dict[str, Any]) -> dict[str, Any]:
    """Remove a preset's layers and width when another number of parameters is typed.

    They would hardly be those of the new model.
    """
    preset = PRESETS.get(fields.get("of", ""))
    if preset is None or fields["parameters"] == format_number(preset.parameters):
        return fields
    is_untouched = (fields["layers"], fields["hidden"]) == (str(preset.layers), str(preset.hidden))
    return {**fields, "of": "", **({"layers": "0", "hidden": "0"} if is_untouched else {})}


def fields_of(work: Workload) -> dict[str, str]:
    """Return the fields as a person would fill them in."""
    texts = {name: str(getattr(work, name)) for name in BOUNDS}
    texts |= {name: format_number(getattr(work, name)) if getattr(work, name) else "" for name in ("parameters", "items")}
    texts |= {"task": work.task.value, "family": work.family.value, "precision": work.precision.value}
    deadline = "" if work.deadline_hours is None else f"{work.deadline_hours:g}"
    return texts | {"recompute": "1" if work.recompute else "0", "deadline_hours": deadline}


def preset_of(form: AdvisorForm) -> str:
    """Return the preset with these fields, or an empty text."""
    fields = {name: form[name].value() or "" for name in form.fields if name != "of"}
    return next((name for name, work in PRESETS.items() if fields_of(work) == fields), "")
