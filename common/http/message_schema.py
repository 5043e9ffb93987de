"""How the API describes a message: the sentence beside it as data."""

from typing import Any

from rest_framework import serializers


class MessageOut(serializers.Serializer[Any]):
    """The accompanying text as structured data, for programs and your own translations. null: only the text is available."""

    code = serializers.CharField(help_text="Identifies the text; new codes can be added at any time")
    params = serializers.DictField(
        child=serializers.JSONField(),
        help_text="By name: text, whole numbers, times (UTC), amounts in micro-units, codes, and messages inside this one",
    )
