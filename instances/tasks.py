"""Shells around the sweeps of instances."""

from uuid import UUID

from celery import shared_task

from common import clock
from instances.services import (
    access,
    alert_mails,
    alerts,
    archive_mails,
    archives,
    arrears,
    barred_bids,
    budgets,
    concluding,
    disks,
    disputes,
    endings,
    extra_ports,
    logs,
    maintenance,
    move_ends,
    reopen,
    retention,
    rollups,
    save_image,
    silent_hosts,
    suspended,
    sweeps,
    sync_schedules,
    timers,
    volume_moves,
    watch_mails,
    watches,
    write_offs,
)
from instances.services.spot import notice_mails, tick


@shared_task(name="instances.enforce_deadlines")
def enforce_deadlines() -> None:
    sweeps.enforce_deadlines(now=clock.now())


@shared_task(name="instances.stop_exhausted")
def stop_exhausted() -> None:
    sweeps.stop_exhausted(now=clock.now())


@shared_task(name="instances.reopen_meters")
def reopen_meters() -> None:
    reopen.reopen_meters(now=clock.now())


@shared_task(name="instances.follow_standings")
def follow_standings() -> None:
    arrears.follow_standings(now=clock.now())


@shared_task(name="instances.follow_budgets")
def follow_budgets() -> None:
    budgets.follow_budgets(now=clock.now())


@shared_task(name="instances.stop_disputed")
def stop_disputed() -> None:
    disputes.stop_disputed(now=clock.now())


@shared_task(name="instances.stop_barred_bids")
def stop_barred_bids() -> None:
    barred_bids.stop_barred_bids()


@shared_task(name="instances.stop_suspended")
def stop_suspended() -> None:
    suspended.stop_suspended()


@shared_task(name="instances.announce_data_ends")
def announce_data_ends() -> None:
    arrears.announce_data_ends(now=clock.now())


@shared_task(name="instances.follow_terms")
def follow_terms() -> None:
    sweeps.follow_terms(now=clock.now())


@shared_task(name="instances.charge_meters")
def charge_meters() -> None:
    silent_hosts.charge_meters(now=clock.now())


@shared_task(name="instances.follow_silence")
def follow_silence() -> None:
    silent_hosts.follow_silence(now=clock.now())


@shared_task(name="instances.follow_disks")
def follow_disks() -> None:
    disks.follow_disks(now=clock.now())


@shared_task(name="instances.close_left_over")
def close_left_over() -> None:
    endings.close_left_over()


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
    rollups.drop_old_samples(now=clock.now())


@shared_task(name="instances.roll_up_use")
def roll_up_use() -> None:
    rollups.roll_up_use(now=clock.now())


@shared_task(name="instances.follow_alerts")
def follow_alerts() -> None:
    alerts.follow_alerts(now=clock.now())


@shared_task(name="instances.queue_alert_mails")
def queue_alert_mails() -> None:
    alert_mails.queue_alert_mails(now=clock.now())


@shared_task(name="instances.serve_watches")
def serve_watches() -> None:
    watches.serve_watches(now=clock.now())


@shared_task(name="instances.queue_watch_mails")
def queue_watch_mails() -> None:
    watch_mails.queue_watch_mails(now=clock.now())


@shared_task(name="instances.drop_old_watches")
def drop_old_watches() -> None:
    watches.drop_old_watches(now=clock.now())


@shared_task(name="instances.tell_of_maintenance")
def tell_of_maintenance() -> None:
    maintenance.tell_of_maintenance()


@shared_task(name="instances.tick_offer")
def tick_offer(offer: str) -> None:
    tick.tick_offer(offer_id=UUID(offer))


@shared_task(name="instances.tick_spot")
def tick_spot() -> None:
    tick.tick_all()


@shared_task(name="instances.tick_due")
def tick_due() -> None:
    tick.tick_due(now=clock.now())


@shared_task(name="instances.queue_notice_mails")
def queue_notice_mails() -> None:
    notice_mails.queue_notice_mails(now=clock.now())


@shared_task(name="instances.conclude_operations")
def conclude_operations() -> None:
    concluding.conclude_operations()


@shared_task(name="instances.follow_keys")
def follow_keys(user: str) -> None:
    access.follow_keys(user_id=UUID(user))


@shared_task(name="instances.follow_all_keys")
def follow_all_keys() -> None:
    access.follow_all_keys()


@shared_task(name="instances.free_left_ports")
def free_left_ports() -> None:
    extra_ports.free_left_ports()


@shared_task(name="instances.drop_old_logs")
def drop_old_logs() -> None:
    logs.drop_old_logs(now=clock.now())


@shared_task(name="instances.follow_moves")
def follow_moves() -> None:
    move_ends.follow_moves(now=clock.now())


@shared_task(name="instances.follow_volume_moves")
def follow_volume_moves() -> None:
    volume_moves.follow_volume_moves(now=clock.now())


@shared_task(name="instances.follow_timers")
def follow_timers() -> None:
    timers.follow_timers(now=clock.now())


@shared_task(name="instances.stop_idle")
def stop_idle() -> None:
    timers.stop_idle(now=clock.now())


@shared_task(name="instances.end_long_waits")
def end_long_waits() -> None:
    timers.end_long_waits(now=clock.now())


@shared_task(name="instances.follow_paid_time")
def follow_paid_time() -> None:
    retention.follow_paid_time(now=clock.now())


@shared_task(name="instances.count_image_uses")
def count_image_uses() -> None:
    save_image.count_image_uses()


@shared_task(name="instances.follow_archives")
def follow_archives() -> None:
    archives.follow_archives(now=clock.now())


@shared_task(name="instances.queue_archive_mails")
def queue_archive_mails() -> None:
    archive_mails.queue_archive_mails(now=clock.now())


@shared_task(name="instances.follow_sync_schedules")
def follow_sync_schedules() -> None:
    sync_schedules.follow_schedules(now=clock.now())


@shared_task(name="instances.settle_write_offs")
def settle_write_offs() -> None:
    write_offs.settle_write_offs(now=clock.now())
