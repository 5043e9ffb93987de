"""Migration operation for readable names of models and fields; it changes only the state, no table."""

from collections.abc import Mapping
from typing import Any

from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class NameModels(Operation):
    """Set `verbose_name` of fields and `names` (singular, plural) of models, by lower-case model names.

    As many AlterField operations would each rebuild all models of the app, which takes a test database minutes.
    """

    reduces_to_sql = False
    reversible = True

    def __init__(self, *, fields: Mapping[str, Mapping[str, str]], names: Mapping[str, tuple[str, str]]) -> None:
        self.fields, self.names = fields, names

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        for model, words in self.fields.items():
            known = state.models[app_label, model].fields
            for name, word in words.items():
                known[name] = known[name].clone()
                known[name].verbose_name = known[name]._verbose_name = word  # what `deconstruct` reads
        for model, (one, several) in self.names.items():
            state.models[app_label, model].options |= {"verbose_name": one, "verbose_name_plural": several}

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Leave the tables as they are."""

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Leave the tables as they are."""

    def describe(self) -> str:
        return "Name models and fields for people"
