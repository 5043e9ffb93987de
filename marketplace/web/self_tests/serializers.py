"""Serializers of self-tests."""

from datetime import datetime
from typing import Annotated

from common.ids import public_id
from common.resources import OneOf, resource
from marketplace.models import SelfTest
from marketplace.states import Verdict

_REQUIRED = "The requirement; quoted if it comes from the host"


@resource
class SelfTestCheck:
    """One check: result, requirement, and remedy."""

    id: str
    gpu: Annotated[str | None, "UUID, for a check of one GPU"]
    passed: Annotated[bool | None, "null: it couldn't be tested; `reason` says why"]
    value: float | None
    unit: str
    actual: Annotated[str, "The result, as reported by the host"]
    required: Annotated[str, _REQUIRED]
    remedy: Annotated[str, "Empty if no action is needed; quoted if it comes from the host"]
    needed: Annotated[bool, "Required for verification"]
    reason: str
    simulated: Annotated[bool, "Simulated, not measured"]
    as_of: Annotated[datetime | None, "From this earlier self-test, since the GPU is in use now"]


@resource
class SelfTestShape:
    """One run of the agent's checks."""

    id: str
    asked_at: datetime
    asked_by: Annotated[str, OneOf(["owner", "market"])]
    verdict: Annotated[str, OneOf(Verdict.choices)]
    finished_at: datetime | None
    seconds: float
    simulated: bool
    agent_version: str | None
    checks: list[SelfTestCheck]


@resource
class SelfTests:
    """The last self-tests of a host, newest first."""

    results: list[SelfTestShape]


def self_test_resource(test: SelfTest) -> SelfTestShape:
    return SelfTestShape(
        id=public_id("test", test.pk),
        asked_at=test.asked_at,
        asked_by="owner" if test.asked_by.startswith("user:") else "market",
        verdict=test.verdict,
        finished_at=test.finished_at,
        seconds=test.seconds,
        simulated=test.simulated,
        agent_version=test.agent_version or None,
        checks=test.checks,
    )
