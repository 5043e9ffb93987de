"""Kill each part while instances run: everything converges again without a person, and the ledger stays clean."""

import signal

import pytest

from tests.stack import renting
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.stack


def _running_box(stack: Stack, name: str) -> dict[str, object]:
    stack.enrol(name, "--runtime", "simulated", "--simulate-gpus", "RTX 4090:2", "--ports", "44000-44999")
    with stack.client("alice") as alice:
        instance = renting.rent(alice, renting.offer_of(alice, name))
        return renting.wait_for_state(alice, instance, "running")


def _still_rents(stack: Stack, name: str) -> None:
    with stack.client("bob") as bob:
        instance = renting.rent(bob, renting.offer_of(bob, name))
        renting.wait_for_state(bob, instance, "running")
        renting.release(bob, instance)


def test_fault_010_081_every_part_may_die_and_everything_converges(own_stack: Stack) -> None:
    stack = own_stack
    box = _running_box(stack, "drill")
    with stack.client("alice") as alice:
        stack.kill("worker")
        stack.flush_redis()
        _still_rents(stack, "drill")
        stack.restart("worker")

        stack.kill("redis")
        assert alice.get("/healthz").status_code == 200
        stack.restart("redis")
        wait_until("ready after Redis", stack.ready)
        _still_rents(stack, "drill")

        stack.kill("relay")
        stack.restart("relay")
        _still_rents(stack, "drill")

        stack.crash_postgres()
        assert alice.get("/readyz").status_code == 503
        stack.revive_postgres()
        wait_until("ready after PostgreSQL", stack.ready)
        _still_rents(stack, "drill")

        stack.kill("web", signal.SIGKILL)
        stack.restart("web")
        wait_until("ready after web", stack.ready)
        _still_rents(stack, "drill")

        stack.kill("agent-drill")
        stack.restart("agent-drill")
        _still_rents(stack, "drill")

        assert renting.read(alice, box)["state"] == "running"
        renting.release(alice, box)
    _every_second_is_charged_once(stack, str(box["id"]).removeprefix("inst_"))
    stack.manage("verify_ledger")
    doubled = "SELECT gpu_id FROM marketplace_lease WHERE released_at IS NULL"
    assert stack.sql(doubled) == []
    assert stack.sql("SELECT id FROM billing_hold WHERE released_at IS NULL") == []


def _every_second_is_charged_once(stack: Stack, instance: str) -> None:
    """No outage here was longer than the bridge of 120 s, so all of [first running, stop + grace] is charged, none twice."""
    charged = (
        "SELECT sum(extract(epoch FROM u.period_to - u.period_from)) FROM billing_usage u"
        f" JOIN billing_meter m ON m.id = u.meter_id WHERE m.source_kind = 'instance' AND m.source_id = '{instance}'"
    )
    lived = (
        "SELECT extract(epoch FROM i.stop_requested_at - min(e.at)) FROM instances_instance i"
        " JOIN instances_instanceevent e ON e.instance_id = i.id AND e.to_state = 'running'"
        f" WHERE i.id = '{instance}' GROUP BY i.id"
    )
    ((seconds,),), ((life,),) = stack.sql(charged), stack.sql(lived)
    assert float(life) - 25 <= float(seconds) <= float(life) + 15, (seconds, life)
