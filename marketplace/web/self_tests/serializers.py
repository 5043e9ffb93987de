"""Serializers of self-tests."""

from typing import Any

from rest_framework import serializers

from common.ids import public_id
from marketplace.models import SelfTest
from marketplace.states import Verdict

_REQUIRED = "What was asked for; quoted where it is the host that asks"


class SelfTestCheck(serializers.Serializer[Any]):
    """One finding, its requirement, and its remedy."""

    id = serializers.CharField()
    gpu = serializers.CharField(allow_null=True, help_text="UUID, for a check of one GPU")
    passed = serializers.BooleanField(allow_null=True, help_text="null: it couldn't be tested; `reason` says why")
    value = serializers.FloatField(allow_null=True)
    unit = serializers.CharField()
    actual = serializers.CharField(help_text="The result, as reported by the host")
    required = serializers.CharField(help_text=_REQUIRED)  # type: ignore[assignment]  # the stubs take it for the option of a field
    remedy = serializers.CharField(help_text="Empty if no action is needed; quoted if it is from the host")
    needed = serializers.BooleanField(help_text="Required for verification")
    reason = serializers.CharField()
    simulated = serializers.BooleanField(help_text="Simulated, not measured")
    as_of = serializers.DateTimeField(allow_null=True, help_text="From this earlier self-test, since the GPU is in use now")


class SelfTestShape(serializers.Serializer[Any]):
    """One run of the agent's checks."""

    id = serializers.CharField()
    asked_at = serializers.DateTimeField()
    asked_by = serializers.ChoiceField(choices=["owner", "market"])
    verdict = serializers.ChoiceField(choices=Verdict.choices)
    finished_at = serializers.DateTimeField(allow_null=True)
    seconds = serializers.FloatField()
    simulated = serializers.BooleanField()
    agent_version = serializers.CharField(allow_null=True)
    checks = SelfTestCheck(many=True)


class SelfTests(serializers.Serializer[Any]):
    """The last self-tests of a host, newest first."""

    results = SelfTestShape(many=True)


def self_test_shape(test: SelfTest) -> dict[str, Any]:
    return {
        "id": public_id("test", test.pk),
        "asked_at": test.asked_at,
        "asked_by": "owner" if test.asked_by.startswith("user:") else "market",
        "verdict": test.verdict,
        "finished_at": test.finished_at,
        "seconds": test.seconds,
        "simulated": test.simulated,
        "agent_version": test.agent_version or None,
        "checks": test.checks,
    }
