"""Protections against faults 87 to 102 of docs/faults.md, taken away one at a time: malice and abuse."""

from typing import Final

from tests.seeded_faults.fault import Fault

FAULTS: Final = (
    Fault(
        name="abuse: what a reported run earned is paid out",
        path="instances/enforcement/fault_reports.py",
        old="            hold_back(owner_id=owner, source_kind=kind, source_id=source)\n",
        new="            pass\n",
        tests=(
            "tests/instances/enforcement/test_fault_reports.py"
            "::test_fault_087_what_it_earned_is_not_paid_out_until_staff_decide",
        ),
    ),
    Fault(
        name="abuse: a host ends an instance of another host",
        path="instances/core/selectors.py",
        old="    rows = Instance.objects.filter(host_id=host_id).exclude(state=InstanceState.GONE)\n",
        new="    rows = Instance.objects.exclude(pk=host_id).exclude(state=InstanceState.GONE)\n",
        tests=(
            "tests/instances/host_reports/test_reconcile.py::test_fault_089_strangers_are_named_and_nothing_else_happens",
        ),
    ),
    Fault(
        name="abuse: a host takes the GPUs of another one",
        path="marketplace/hosts/hosts.py",
        old="        own = [gpu for gpu in shape.gpus if gpu.uuid not in claimed]\n",
        new="        own = list(shape.gpus)\n",
        tests=("tests/marketplace/hosts/test_facts.py::test_fault_090_a_gpu_of_another_host_is_left_out_and_told",),
    ),
    Fault(
        name="abuse: a report of the start before last counts",
        path="agents/gateway/services/identities.py",
        old="    if identity.boot_id:\n",
        new="    SupersededBoot.objects.filter(identity=identity).delete()\n    if identity.boot_id:\n",
        tests=(
            "tests/agents/gateway/test_refusals.py"
            "::test_fault_091_yesterday_s_report_is_a_replay_after_any_number_of_starts",
        ),
    ),
    Fault(
        name="abuse: an owner is paid for renting with the card of both accounts",
        path="billing/people/selectors.py",
        old="_PROVEN = \"own.kind = 'card' OR theirs.proven_at IS NOT NULL\"",
        new='_PROVEN = "theirs.proven_at IS NOT NULL"',
        tests=("tests/billing/payouts/test_stolen_card.py::test_fault_092_the_same_card_on_both_accounts_is_a_flag",),
    ),
    Fault(
        name="abuse: earnings are paid out before a bank can have spoken",
        path="billing/payouts/payable_balance.py",
        old="        return max(0, self.young_micros)\n",
        new="        return min(0, self.young_micros)\n",
        tests=("tests/billing/payouts/test_stolen_card.py::test_fault_092_nothing_is_paid_before_the_bank_can_have_spoken",),
    ),
    Fault(
        name="abuse: a comment of a key drives a terminal",
        path="accounts/ssh_keys/services.py",
        old='    printable = "".join(character for character in comment if character.isprintable())\n',
        new='    printable = "".join(character for character in comment if character)\n',
        tests=("tests/accounts/ssh_keys/test_ssh_keys.py::test_fault_097_a_comment_never_carries_control_characters",),
    ),
    Fault(
        name="abuse: a registry's name leads into the market's own network",
        path="common/http/outbound.py",
        old="        if not is_allowed(address):\n",
        new="        if not is_allowed(address) and not address.is_private:\n",
        tests=("tests/storage/images/test_named_images.py::test_fault_098_a_registry_may_not_be_the_market_s_own_network",),
    ),
    Fault(
        name="abuse: the relay dials addresses of its own network",
        path="agents/relay/port_check.py",
        old="if not (self._private or all(is_public(place) for place in places)):",
        new="if not (self._private or places):",
        tests=("tests/agents/relay/test_port_check.py::test_fault_098_in_production_no_private_address_is_dialled",),
    ),
    Fault(
        name="abuse: a revoked token opens the account",
        path="accounts/selectors.py",
        old="return None if token.revoked_at or expired or not token.user.is_active else token",
        new="return None if expired or not token.user.is_active else token",
        tests=(
            "tests/accounts/sessions/test_credential_stuffing.py::test_fault_100_a_leaked_token_ends_with_its_revocation",
        ),
    ),
    Fault(
        name="abuse: a container has the capabilities of the host's root",
        path="agents/daemon/docker_engine/container_spec.py",
        old='        "CapDrop": ["ALL"],\n',
        new='        "CapDrop": [],\n',
        tests=(
            "tests/agents/daemon/docker_engine/test_container_spec.py"
            "::test_fault_101_the_walls_stand_for_any_desired_instance",
        ),
    ),
    Fault(
        name="abuse: agents that were told to wait come back at one moment",
        path="agents/daemon/control_plane/http_client.py",
        old="error.retry_after_s * self._jitter(1.0, 1.5))",
        new="error.retry_after_s)",
        tests=("tests/agents/daemon/test_host_faults.py::test_fault_102_a_herd_that_is_told_to_wait_comes_back_spread",),
    ),
)
