"""Forms of the webhooks' pages, and texts of their values."""

from typing import Final

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.constants import MAX_WEBHOOK_URL_CHARS, WEBHOOK_KINDS
from common.http.fields import NameField

KIND_WORDS: Final[dict[str, str | Promise]] = {
    "instance.started": _("An instance runs"),
    "instance.stopped": _("An instance was stopped"),
    "instance.failed": _("An instance failed"),
    "instance.released": _("An instance is gone"),
    "instance.preempt_notice": _("A spot instance is about to lose its GPUs"),
    "instance.schedule": _("A schedule started, stopped or released an instance"),
    "instance.release_warning": _("The data of an instance is about to be released"),
    "storage.release_warning": _("A volume or snapshot that nobody pays for is about to be deleted"),
    "instance.archived": _("The data of an instance was archived before its deletion"),
    "instance.archive_failed": _("The data of an instance could not be archived"),
    "sync.done": _("A sync with object storage is done"),
    "sync.failed": _("A sync with object storage failed"),
    "alert.raised": _("An alert was raised"),
    "alert.resolved": _("An alert is over"),
    "webhook.test": _("Test messages"),
}
# Texts of failures of an attempt, by code.
FAULT_WORDS: Final[dict[str, str | Promise]] = {
    "status": _("The receiver answered with an error"),
    "redirect": _("The receiver sent us elsewhere: redirects are not followed"),
    "timeout": _("No answer within 10 seconds"),
    "refused": _("Nothing listens at the address"),
    "unresolved": _("The name cannot be found"),
    "not_public": _("The name leads to an address that is not public"),
    "needs_https": _("The address must begin with https://"),
    "tls": _("The certificate is not trusted"),
    "broken": _("The connection broke"),
    "bad_address": _("This is not a web address"),
    "bad_port": _("The port is not one for the web"),
    "secret_lost": _("The secret cannot be read any more: make a new one"),
}


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=_("Address"),
        max_length=MAX_WEBHOOK_URL_CHARS,
        widget=forms.URLInput(attrs={"placeholder": "https://example.com/berth", "spellcheck": "false"}),
        help_text=_("Where your program listens: https, on a public address."),
    )
    description = NameField(label=_("Description"), max_length=120, required=False)
    kinds = forms.MultipleChoiceField(
        label=_("Tell of"),
        choices=[(kind, KIND_WORDS.get(kind, kind)) for kind in WEBHOOK_KINDS if kind != "webhook.test"],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Choose nothing to be told of everything, kinds to come included."),
    )
