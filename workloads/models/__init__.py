"""Tables of workloads."""

from workloads.models.templates import LaunchTemplate, TemplateVersion

__all__ = ["LaunchTemplate", "TemplateVersion"]
