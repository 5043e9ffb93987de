"""Celery tasks that run the sweeps of workloads."""

from celery import shared_task

from workloads.templates import official, use_counts


@shared_task(name="workloads.count_template_uses")
def count_template_uses() -> None:
    use_counts.record_template_uses()


@shared_task(name="workloads.follow_official_templates")
def follow_official_templates() -> None:
    official.register_official_templates()
