"""Form fields of a launch template on the rental page: its inputs, and its settings shown for change."""

from dataclasses import replace
from typing import Any, Final

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from instances.launch.settings import EMPTY, LaunchSettings, change
from instances.launch.templates import OrderTemplate, TemplateInput, settings_with
from instances.web.launch.forms import LaunchFormFields, shown_settings

_MARK: Final = "input-"
_INPUT_CHARS: Final = 2000


class TemplateFormFields(LaunchFormFields):
    """Launch settings that begin as those of a template, and a field for each of its inputs."""

    template = forms.CharField(required=False, max_length=120, widget=forms.HiddenInput)
    order_template: OrderTemplate | None = None
    _named = ""

    def use_template(self, template: OrderTemplate | None, named: str) -> None:
        """Show the template's settings, and ask for its inputs; `named` is how the page was asked for it."""
        self.order_template, self._named = template, named
        if template is None:
            return
        self.based_on(shown_settings(template.settings))
        first: dict[str, Any] = {"template": named, "image": template.image}
        if template.data_disk_gb is not None:
            first["data_disk_gb"] = template.data_disk_gb
        self.initial = {**first, **(self.initial or {})}
        for each in template.inputs:
            self.fields[f"{_MARK}{each.name}"] = _field(each, template.localized(each.label) or each.name)

    @property
    def template_page(self) -> str:
        """Return what the template's page is asked for by."""
        return self._named.partition("@")[0]

    @property
    def input_fields(self) -> list[BoundField]:
        return [self[name] for name in self.fields if name.startswith(_MARK)]

    @property
    def launch(self) -> LaunchSettings:
        """Return the settings of the order; raise InvalidInput for wrong ones and for missing inputs."""
        return super().launch if self.order_template is None else self._with(self.order_template)

    @property
    def draft_launch(self) -> LaunchSettings:
        """Return the settings as far as they are entered, since the price does not depend on them."""
        template = self.order_template
        if template is None:
            return super().launch
        return self._with(replace(template, inputs=tuple(replace(each, required=False) for each in template.inputs)))

    def _with(self, template: OrderTemplate) -> LaunchSettings:
        changed = change(template.settings, self.launch_changes)
        values = {name.removeprefix(_MARK): text for name, text in self.cleaned_data.items() if name.startswith(_MARK)}
        return settings_with(replace(template, settings=changed), values, EMPTY)


def _field(one: TemplateInput, label: str) -> forms.Field:
    note = _("required") if one.required else ""
    if one.kind == "choice":
        blank = [] if one.required else [("", "–")]
        return forms.ChoiceField(
            label=label,
            help_text=note,
            required=False,
            choices=[*blank, *((each, each) for each in one.choices)],
            initial=one.default,
        )
    secret = forms.PasswordInput(attrs={"autocomplete": "off"})  # its value is never sent back to the page
    return forms.CharField(
        label=label,
        help_text=note,
        required=False,
        max_length=_INPUT_CHARS,
        initial=one.default,
        widget=secret if one.kind == "secret" else forms.TextInput(attrs={"autocomplete": "off"}),
    )
