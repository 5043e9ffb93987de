"""How the API describes a message: the sentence beside it as data."""

from typing import Any

from rest_framework import serializers


class MessageOut(serializers.Serializer[Any]):
    """The sentence beside it as data, for programs and for texts of your own. null: there is only the sentence."""

    code = serializers.CharField(help_text="Which sentence; new ones come without notice")
    params = serializers.DictField(
        child=serializers.JSONField(),
        help_text="By name: text, whole numbers, times (UTC), amounts in micro-units, codes, and messages inside this one",
    )
