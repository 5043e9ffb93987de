"""Migration operation for readable texts of models and fields; it changes only the state, no table."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class NameModels(Operation):
    """Set texts of fields, and `names` (singular, plural) of models, by lower-case model names.

    `fields` holds each `verbose_name`, `choices` pairs of value and label. Values must stay the same.
    As many AlterField operations would each rebuild all models of the app, which takes a test database minutes.
    """

    reduces_to_sql = False
    reversible = True

    def __init__(
        self,
        *,
        fields: Mapping[str, Mapping[str, str]],
        names: Mapping[str, tuple[str, str]],
        choices: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]] | None = None,
        help_texts: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.fields, self.names = fields, names
        self.choices, self.help_texts = choices or {}, help_texts or {}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        for texts, attributes in (
            (self.fields, ("verbose_name", "_verbose_name")),  # `deconstruct` reads the latter
            (self.choices, ("choices",)),
            (self.help_texts, ("help_text",)),
        ):
            for model, by_field in texts.items():
                known = state.models[app_label, model].fields
                for name, text in by_field.items():
                    known[name] = known[name].clone()
                    for attribute in attributes:
                        setattr(known[name], attribute, text)
        for model, (one, several) in self.names.items():
            state.models[app_label, model].options |= {"verbose_name": one, "verbose_name_plural": several}

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Leave the tables as they are."""

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Leave the tables as they are."""

    def describe(self) -> str:
        return "Name models and fields for people"
