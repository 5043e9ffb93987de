"""Words that the tables of workloads may hold."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Visibility(TextChoices):
    """Who sees a template besides its owner."""

    PRIVATE = "private", _("Private")
    TEAM = "team", _("Team")
    PUBLIC = "public", _("Public")


class Review(TextChoices):
    """What staff said of a version for the public list."""

    NONE = "none", _("Not submitted")
    SUBMITTED = "submitted", _("In review")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")


class Category(TextChoices):
    DEVELOPMENT = "development", _("Development")
    TRAINING = "training", _("Training")
    INFERENCE = "inference", _("Inference")
    IMAGES = "images", _("Image generation")
    DATA = "data", _("Data")
    OTHER = "other", _("Other")


class InputKind(TextChoices):
    TEXT = "text", _("Text")
    NUMBER = "number", _("Number")
    CHOICE = "choice", _("Choice")
    SECRET = "secret", _("Secret")


class PortProtocol(TextChoices):
    HTTP = "http", "HTTP"
    TCP = "tcp", "TCP"
    UDP = "udp", "UDP"
