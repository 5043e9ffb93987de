"""Celery tasks that run the sweeps of instances."""

from uuid import UUID

from celery import shared_task

from common import clock
from instances.access import commands, credentials, extra_ports, logs
from instances.enforcement import (
    arrears,
    budgets,
    disputes,
    maintenance_notices,
    self_dealing_bids,
    silent_hosts,
    suspended_owners,
    sweeps,
)
from instances.enforcement import reopen_meters as meter_reopening
from instances.host_reports import operation_results
from instances.launch import retention as launch_retention
from instances.lifecycle import meter_closing, save_image
from instances.monitoring import alerts, mail, rollups
from instances.object_sync import schedules
from instances.retention import archive, data_retention
from instances.retention import mail as retention_mail
from instances.schedules import timers
from instances.spot import mail as spot_mail
from instances.spot import market_tick
from instances.transfers import completion
from instances.volumes import transfers, unpaid_disks
from instances.wait_list import mail as wait_list_mail
from instances.wait_list import wait_list
from instances.write_offs import services


@shared_task(name="instances.enforce_deadlines")
def enforce_deadlines() -> None:
    sweeps.enforce_deadlines(now=clock.now())


@shared_task(name="instances.stop_exhausted")
def stop_exhausted() -> None:
    sweeps.stop_exhausted(now=clock.now())


@shared_task(name="instances.reopen_meters")
def reopen_meters() -> None:
    meter_reopening.reopen_meters(now=clock.now())


@shared_task(name="instances.follow_standings")
def follow_standings() -> None:
    arrears.enforce_standings(now=clock.now())


@shared_task(name="instances.follow_budgets")
def follow_budgets() -> None:
    budgets.enforce_budgets(now=clock.now())


@shared_task(name="instances.stop_disputed")
def stop_disputed() -> None:
    disputes.stop_disputed(now=clock.now())


@shared_task(name="instances.stop_barred_bids")
def stop_self_dealing_bids() -> None:
    self_dealing_bids.stop_self_dealing_bids()


@shared_task(name="instances.stop_suspended")
def stop_suspended() -> None:
    suspended_owners.stop_disabled_accounts()


@shared_task(name="instances.announce_data_ends")
def announce_data_ends() -> None:
    arrears.announce_data_ends(now=clock.now())


@shared_task(name="instances.follow_terms")
def follow_terms() -> None:
    sweeps.end_terms(now=clock.now())


@shared_task(name="instances.charge_meters")
def charge_meters() -> None:
    silent_hosts.charge_meters(now=clock.now())


@shared_task(name="instances.follow_silence")
def follow_silence() -> None:
    silent_hosts.update_meters_of_silent_hosts(now=clock.now())


@shared_task(name="instances.follow_disks")
def follow_disks() -> None:
    unpaid_disks.update_disk_meters(now=clock.now())


@shared_task(name="instances.close_left_over")
def close_left_over() -> None:
    meter_closing.close_leftover_meters()


@shared_task(name="instances.purge_expired")
def purge_expired() -> None:
    sweeps.purge_expired(now=clock.now())


@shared_task(name="instances.compare_leases")
def compare_leases() -> None:
    sweeps.compare_leases()


@shared_task(name="instances.compare_watch_holds")
def compare_watch_holds() -> None:
    sweeps.compare_watch_holds()


@shared_task(name="instances.audit_ledger", time_limit=3600)
def audit_ledger() -> None:
    sweeps.audit_daily(now=clock.now())


@shared_task(name="instances.drop_old_samples")
def drop_old_samples() -> None:
    rollups.delete_old_samples(now=clock.now())


@shared_task(name="instances.roll_up_use")
def roll_up_use() -> None:
    rollups.roll_up_use(now=clock.now())


@shared_task(name="instances.follow_alerts")
def follow_alerts() -> None:
    alerts.update_alerts(now=clock.now())


@shared_task(name="instances.queue_alert_mails")
def queue_alert_mails() -> None:
    mail.queue_alert_mails(now=clock.now())


@shared_task(name="instances.serve_watches")
def serve_watches() -> None:
    wait_list.serve_entries(now=clock.now())


@shared_task(name="instances.queue_watch_mails")
def queue_watch_mails() -> None:
    wait_list_mail.queue_watch_mails(now=clock.now())


@shared_task(name="instances.drop_old_watches")
def drop_old_watches() -> None:
    wait_list.delete_old_entries(now=clock.now())


@shared_task(name="instances.tell_of_maintenance")
def tell_of_maintenance() -> None:
    maintenance_notices.notify_of_maintenance()


@shared_task(name="instances.tick_offer")
def tick_offer(offer: str) -> None:
    market_tick.tick_offer(offer_id=UUID(offer))


@shared_task(name="instances.tick_spot")
def tick_spot() -> None:
    market_tick.tick_all()


@shared_task(name="instances.tick_due")
def tick_due() -> None:
    market_tick.tick_due(now=clock.now())


@shared_task(name="instances.queue_notice_mails")
def queue_notice_mails() -> None:
    spot_mail.queue_notice_mails(now=clock.now())


@shared_task(name="instances.conclude_operations")
def conclude_operations() -> None:
    operation_results.apply_results()


@shared_task(name="instances.follow_keys")
def follow_keys(user: str) -> None:
    credentials.apply_account_keys(user_id=UUID(user))


@shared_task(name="instances.follow_all_keys")
def follow_all_keys() -> None:
    credentials.apply_all_account_keys()


@shared_task(name="instances.free_left_ports")
def free_left_ports() -> None:
    extra_ports.free_closed_ports()


@shared_task(name="instances.drop_old_logs")
def drop_old_logs() -> None:
    logs.delete_old_logs(now=clock.now())


@shared_task(name="instances.drop_old_commands")
def drop_old_commands() -> None:
    commands.delete_old_commands(now=clock.now())


@shared_task(name="instances.erase_unused_secrets")
def erase_unused_secrets() -> None:
    launch_retention.erase_unused_secrets(now=clock.now())


@shared_task(name="instances.follow_moves")
def follow_moves() -> None:
    completion.advance_transfers(now=clock.now())


@shared_task(name="instances.follow_volume_moves")
def follow_volume_moves() -> None:
    transfers.advance_volume_transfers(now=clock.now())


@shared_task(name="instances.follow_timers")
def follow_timers() -> None:
    timers.run_due_timers(now=clock.now())


@shared_task(name="instances.stop_idle")
def stop_idle() -> None:
    timers.stop_idle(now=clock.now())


@shared_task(name="instances.end_long_waits")
def end_long_waits() -> None:
    timers.end_long_waits(now=clock.now())


@shared_task(name="instances.follow_paid_time")
def follow_paid_time() -> None:
    data_retention.update_retention_meters(now=clock.now())


@shared_task(name="instances.count_image_uses")
def count_image_uses() -> None:
    save_image.count_image_uses()


@shared_task(name="instances.follow_archives")
def follow_archives() -> None:
    archive.start_due_archives(now=clock.now())


@shared_task(name="instances.queue_archive_mails")
def queue_archive_mails() -> None:
    retention_mail.queue_archive_mails(now=clock.now())


@shared_task(name="instances.follow_sync_schedules")
def follow_sync_schedules() -> None:
    schedules.start_due_syncs(now=clock.now())


@shared_task(name="instances.settle_write_offs")
def settle_write_offs() -> None:
    services.settle_write_offs(now=clock.now())
