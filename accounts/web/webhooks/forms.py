"""Forms of the webhooks' pages, and texts of their values."""

from typing import Final

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.constants import MAX_WEBHOOK_URL_CHARS, WEBHOOK_KINDS
from common.http.fields import NameField

KIND_LABELS: Final[dict[str, str | Promise]] = {
    "instance.started": _("An instance is running"),
    "instance.stopped": _("An instance was stopped"),
    "instance.failed": _("An instance failed"),
    "instance.released": _("An instance was released"),
    "instance.preempt_notice": _("A spot instance is about to lose its GPUs"),
    "instance.schedule": _("A schedule started, stopped or released an instance"),
    "instance.release_warning": _("An instance's data is about to be deleted"),
    "storage.release_warning": _("An unpaid volume or snapshot is about to be deleted"),
    "instance.archived": _("An instance's data was archived before deletion"),
    "instance.archive_failed": _("An instance's data couldn't be archived"),
    "sync.done": _("A sync finished"),
    "sync.failed": _("A sync failed"),
    "alert.raised": _("An alert was raised"),
    "alert.resolved": _("An alert ended"),
    "webhook.test": _("Test messages"),
}
# Texts of failures of an attempt, by code.
FAULT_LABELS: Final[dict[str, str | Promise]] = {
    "status": _("The receiver returned an error"),
    "redirect": _("The receiver redirected the request; redirects aren't followed"),
    "timeout": _("No response within 10 seconds"),
    "refused": _("Connection refused: nothing is listening at this address"),
    "unresolved": _("The domain name can't be resolved"),
    "not_public": _("The domain name resolves to a private address"),
    "needs_https": _("Enter an address that starts with https://"),
    "tls": _("The certificate isn't trusted"),
    "broken": _("The connection was lost"),
    "bad_address": _("Enter a URL, such as https://example.com/berth"),
    "bad_port": _("This port isn't allowed"),
    "secret_lost": _("The signing secret can't be read. Rotate it."),
}


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=_("Address"),
        max_length=MAX_WEBHOOK_URL_CHARS,
        widget=forms.URLInput(attrs={"placeholder": "https://example.com/berth", "spellcheck": "false"}),
        help_text=_("A public https address where your program listens."),
    )
    description = NameField(label=_("Description"), max_length=120, required=False)
    kinds = forms.MultipleChoiceField(
        label=_("Events"),
        choices=[(kind, KIND_LABELS.get(kind, kind)) for kind in WEBHOOK_KINDS if kind != "webhook.test"],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Leave blank to receive all events, including future ones."),
    )
