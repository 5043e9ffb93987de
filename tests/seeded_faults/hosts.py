"""Protections against faults 13 to 57 of docs/faults.md, taken away one at a time: agents, hosts and their GPUs."""

from typing import Final

from tests.seeded_faults.fault import Fault

FAULTS: Final = (
    Fault(
        name="hosts: the copy of an agent is taken for a restart of it",
        path="agents/gateway/services/identities.py",
        old="        raise Superseded()\n    return False\n",
        new="        raise Superseded()\n    return True\n",
        tests=("tests/agents/gateway/test_refusals.py::test_fault_020_two_agents_with_one_identity_freeze_the_host",),
    ),
    Fault(
        name="hosts: a message without a required field is not refused",
        path="agents/protocol/codec.py",
        old="            elif not _has_default(item):\n",
        new="            elif not _has_default(item) and self._rules is None:\n",
        tests=("tests/agents/gateway/test_sync.py::test_fault_021_an_agent_of_another_version_is_served_or_told",),
    ),
    Fault(
        name="hosts: a silent host is rented out",
        path="marketplace/hosts/heartbeat.py",
        old="        refresh_offers_of_host(host_id=host_id)\n        change_counters",
        new="        change_counters",
        tests=(
            "tests/instances/enforcement/test_sweeps.py"
            "::test_fault_023_a_host_that_vanishes_is_paid_to_its_last_report_keeps_its_lease_and_rents_nothing_out",
        ),
    ),
    Fault(
        name="hosts: a long gap in the reports is charged",
        path="billing/metering/meters.py",
        old="    if interrupted:\n        _reopen_meters(interrupted, at)\n",
        new="    Meter.objects.filter(pk__in=interrupted).update(proven_until=at)\n",
        tests=("tests/instances/host_reports/test_reconcile.py::test_fault_024_a_long_gap_is_not_charged",),
    ),
    Fault(
        name="hosts: GPUs are rented out while what was written off still runs on them",
        path="marketplace/leasing/availability.py",
        old="                          AND cardinality(h.leftovers_of) = 0 AS now) open",
        new="                          AS now) open",
        tests=("tests/agents/gateway/test_write_offs.py::test_fault_025_what_is_left_goes_before_anything_is_rented",),
    ),
    Fault(
        name="hosts: one GPU is given to two containers",
        path="agents/daemon/gpu/claims.py",
        old="        if rival is not None:\n",
        new="        if rival == desired.id:\n",
        tests=("tests/agents/daemon/reconciler/test_actions.py::test_the_fourth_wall",),
    ),
    Fault(
        name="hosts: instances are stopped while the market itself is cut off",
        path="marketplace/reliability/silence_selectors.py",
        old="        return self.is_mass and not self.spent\n",
        new="        return self.is_mass and self.spent\n",
        tests=(
            "tests/instances/enforcement/test_sweeps.py"
            "::test_fault_027_nobody_is_blamed_and_nothing_stopped_while_everybody_is_silent",
        ),
    ),
    Fault(
        name="hosts: a host whose engine hangs is rented out",
        path="marketplace/leasing/availability.py",
        old="                          AND h.engine_age_s < %(slow)s\n",
        new="                          AND h.engine_age_s < 2 * %(slow)s\n",
        tests=("tests/marketplace/hosts/test_hosts.py::test_fault_028_a_host_whose_engine_hangs_takes_no_new_rents",),
    ),
    Fault(
        name="hosts: an engine that is silent proves what it said last",
        path="agents/daemon/agent.py",
        old="if view.age_s <= UNKNOWN_AFTER else [unknown_row(row) for row in rows],",
        new="if view.age_s >= 0.0 else [unknown_row(row) for row in rows],",
        tests=("tests/agents/daemon/test_agent.py::test_fault_028_030_a_silent_engine_is_told_never_guessed",),
    ),
    Fault(
        name="hosts: the seconds of a pause are charged",
        path="instances/lifecycle/cut_off.py",
        old="at=at, bridge=NO_BRIDGE)\n    term =",
        new="at=at)\n    term =",
        tests=(
            "tests/instances/lifecycle/test_paused_by_host.py"
            "::test_fault_031_a_loop_of_pauses_is_paid_for_the_running_seconds_alone",
        ),
    ),
    Fault(
        name="hosts: a run that failed is charged to the report of its end",
        path="instances/enforcement/use_proofs.py",
        old="    if row.phase not in ALIVE:\n        return False\n",
        new="",
        tests=(
            "tests/instances/host_reports/test_reconcile.py"
            "::test_fault_032_a_container_that_runs_out_of_memory_is_paid_to_its_last_proof",
        ),
    ),
    Fault(
        name="hosts: a full disk ends the agent",
        path="agents/daemon/lib/journal.py",
        old="            if there < size:\n                os.posix_fallocate(file, 0, size)\n",
        new="            os.posix_fallocate(file, 0, size)\n",
        tests=("tests/agents/daemon/lib/test_journal.py::test_fault_034_a_full_disk_does_not_stop_it",),
    ),
    Fault(
        name="hosts: a pull that stands still holds a GPU for good",
        path="agents/daemon/engine/pull_watch.py",
        old="        if now - self.heard > pull.stall_s:\n",
        new="        if now - self.heard > pull.total_s:\n",
        tests=("tests/agents/daemon/engine/test_pull_watch.py::test_fault_036_a_pull_that_stands_still_ends",),
    ),
    Fault(
        name="hosts: an image that never came costs its GPU's price",
        path="instances/host_reports/reconcile.py",
        old='        _release_leases(instance, reason="failed")\n',
        new="        pass\n",
        tests=("tests/instances/orders/test_image_refusals.py::test_fault_037_nothing_is_paid_and_the_gpu_is_free",),
    ),
    Fault(
        name="hosts: a tag that has moved changes what is rented already",
        path="storage/images/resolve.py",
        old="    reference = name.pinned(found.digest)\n",
        new="    reference = name.text\n",
        tests=("tests/storage/images/test_named_images.py::test_fault_038_a_tag_that_moves",),
    ),
    Fault(
        name="hosts: an image fills the host's disk",
        path="agents/daemon/engine/pull_watch.py",
        old="            if pull.room() < ROOM_KEPT:\n",
        new="            if pull.room() < 0:\n",
        tests=("tests/agents/daemon/engine/test_pull_watch.py::test_fault_039_an_image_that_fills_the_disk_is_ended",),
    ),
    Fault(
        name="hosts: taken ports are replaced without end",
        path="instances/lifecycle/port_conflicts.py",
        old="if taken is None or _changes_lately(instance, at) >= PORT_CHANGES_AT_MOST:",
        new="if taken is None:",
        tests=(
            "tests/instances/lifecycle/test_ends_by_host.py"
            "::test_fault_040_not_without_end_and_not_for_a_port_of_somebody_else",
        ),
    ),
    Fault(
        name="hosts: what hangs holds up a removal",
        path="agents/daemon/reconciler/worker_pool.py",
        old='if current is not None and not (action.kind == "remove" and _may_overtake(current, action)):',
        new="if current is not None:",
        tests=("tests/agents/daemon/reconciler/test_worker_pool.py::test_fault_041_a_removal_passes_what_hangs",),
    ),
    Fault(
        name="hosts: a restart interrupts the charges",
        path="instances/enforcement/use_proofs.py",
        old="        return runs and row.generation <= instance.run_generation\n",
        new="        return runs and row.generation == instance.run_generation\n",
        tests=(
            "tests/instances/host_reports/test_reconcile.py::test_fault_042_a_restart_goes_on_charging_across_the_short_gap",
        ),
    ),
    Fault(
        name="hosts: a transfer that was cut once its disk was in place never ends",
        path="agents/daemon/transfer/instance_transfer.py",
        old="        if order.disk_gb and inbox.path(DISK).exists():\n",
        new="        if order.disk_gb:\n",
        tests=("tests/agents/daemon/transfer/test_instance_transfer.py::test_fault_043_a_receiver_killed_anywhere_goes_on",),
    ),
    Fault(
        name="hosts: a transfer fills the target's disk",
        path="agents/daemon/transfer/instance_transfer.py",
        old="if shutil.disk_usage(inbox.folder).free < needed + HEADROOM:",
        new="if shutil.disk_usage(inbox.folder).free < needed:",
        tests=(
            "tests/agents/daemon/transfer/test_instance_transfer.py"
            "::test_fault_044_a_host_without_room_says_so_before_the_first_byte",
        ),
    ),
    Fault(
        name="hosts: a lost volume is charged",
        path="storage/volumes/lost.py",
        old="    close_volume(volume_id, at=at)\n",
        new="",
        tests=(
            "tests/instances/monitoring/test_lost_data.py"
            "::test_fault_047_a_lost_volume_costs_nothing_and_a_snapshot_is_offered",
        ),
    ),
    Fault(
        name="hosts: two changes of one state both count",
        path="common/transitions.py",
        old='row.pk, "state": origin, "generation": row.generation}',
        new="row.pk}",
        tests=("tests/concurrency/test_rent_life.py::test_fault_048_a_start_between_the_look_and_the_purge_saves_the_data",),
    ),
    Fault(
        name="hosts: a lost GPU leaves its instance running",
        path="agents/daemon/gpu/xid_events.py",
        old='if row.phase == "running" and lost & set(row.gpu_uuids) else row',
        new='if row.phase == "running" and lost > set(row.gpu_uuids) else row',
        tests=(
            "tests/agents/daemon/gpu/test_xid_events.py"
            "::test_fault_049_a_gpu_off_the_bus_fails_who_runs_on_it_and_is_not_rented_again",
        ),
    ),
    Fault(
        name="hosts: what a renter's program did is the host's fault",
        path="instances/core/gpu_xid_errors.py",
        old="    return Xid(title, advice, FaultOf.RENTER)\n",
        new="    return Xid(title, advice, FaultOf.HOST)\n",
        tests=(
            "tests/instances/monitoring/test_alerts.py"
            "::test_fault_050_a_gpus_fault_reaches_who_runs_on_it_with_whose_fault_it_is",
        ),
    ),
    Fault(
        name="hosts: a GPU that slows down for heat is rented out",
        path="agents/daemon/gpu/health.py",
        old="        (slowed & HOT, ",
        new="        (slowed & HOT & 1, ",
        tests=("tests/agents/daemon/gpu/test_nvml.py::test_fault_051_a_gpu_in_trouble_is_unfit_until_that_is_over",),
    ),
    Fault(
        name="hosts: a swapped GPU is taken for the one in its place",
        path="marketplace/hosts/inventory.py",
        old="        row = known.pop(gpu.uuid, None)\n",
        new="        by_place = {each.index: each.uuid for each in known.values()}\n"
        "        row = known.pop(gpu.uuid, None) or known.pop(by_place.get(gpu.index, gpu.uuid), None)\n",
        tests=("tests/marketplace/hosts/test_facts.py::test_fault_052_a_swapped_gpu_is_another_gpu",),
    ),
    Fault(
        name="hosts: a GPU that no longer answers is rented out",
        path="agents/daemon/gpu/nvml.py",
        old="replace(self._known[index], healthy=False, detail=str(error))",
        new="replace(self._known[index], detail=str(error))",
        tests=("tests/agents/daemon/gpu/test_nvml.py::test_fault_053_unknown_error_is_seen_at_the_next_look",),
    ),
    Fault(
        name="hosts: a driver that nobody has tested is rented out",
        path="marketplace/hosts/hosts.py",
        old="            if was and host.driver and was != host.driver and not host.awaits_test:\n",
        new="            if was and not host.driver and was != host.driver and not host.awaits_test:\n",
        tests=(
            "tests/marketplace/reliability/test_verification.py"
            "::test_fault_054_another_driver_closes_the_host_until_it_is_tested",
        ),
    ),
    Fault(
        name="hosts: the memory of another renter is left on a GPU",
        path="agents/daemon/gpu/wipe.py",
        old="if self._last.get(uuid) != desired.id]",
        new="if uuid not in self._last]",
        tests=(
            "tests/agents/daemon/reconciler/test_actions.py::test_fault_055_a_gpu_is_empty_before_the_next_container_starts",
        ),
    ),
    Fault(
        name="hosts: memory that does not read as zeros passes for wiped",
        path="agents/daemon/gpu/cuda_burn_in.py",
        old="            clean &= found.value == 0\n",
        new="            clean |= found.value == 0\n",
        tests=("tests/agents/daemon/gpu/test_burn_in.py::test_fault_055_all_that_is_free_is_overwritten_and_read_back",),
    ),
    Fault(
        name="hosts: an unfit GPU is the one that is leased",
        path="marketplace/leasing/lease.py",
        old="present=True, healthy=True, quarantined=False)",
        new="present=True, quarantined=False)",
        tests=(
            "tests/marketplace/hosts/test_facts.py"
            "::test_fault_056_an_unfit_gpu_is_never_the_one_that_an_order_of_fewer_gets",
        ),
    ),
    Fault(
        name="hosts: a clock that was set back keeps a lease alive",
        path="marketplace/leasing/lease.py",
        old='Greatest(F("leased_at"), Value(clock.now()))',
        new="Value(clock.now())",
        tests=("tests/marketplace/leasing/test_lease.py::test_fault_057_a_clock_set_back_does_not_keep_a_lease_alive",),
    ),
    Fault(
        name="hosts: a container that was made by a dead agent is never started",
        path="agents/daemon/reconciler/plan.py",
        old='if newest.status == "created" or is_unstarted(newest, entry):',
        new="if is_unstarted(newest, entry):",
        tests=("tests/docker/test_kill_points.py::test_fault_013_014_015_rent_and_release",),
    ),
)
