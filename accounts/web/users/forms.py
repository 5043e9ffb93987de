"""Forms of the settings pages."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.constants import MAX_SSH_KEY_CHARS, SCOPES
from common import clock
from common.http.fields import NameField

_LIFETIMES = {"30": _("30 days"), "90": _("90 days"), "365": _("1 year"), "": _("Never expires")}
SCOPE_LABELS = {
    "instances:read": _("See instances and quotes"),
    "instances:write": _("Rent, stop, start and release instances"),
    "instances:connect": _("Connect to instances: terminal, files, tunnels, JupyterLab, passwords, SSH keys, ports"),
    "storage:read": _("See volumes, snapshots and public datasets"),
    "storage:write": _("Create, attach, copy, restore and delete volumes and snapshots"),
    "billing:read": _("See the wallet and statements"),
    "billing:write": _("Top up, redeem coupons, set limits and request payouts"),
    "keys:read": _("See SSH keys"),
    "keys:write": _("Remove SSH keys; add them if connecting to instances is allowed too"),
    "hosts:read": _("See your hosts and earnings"),
    "hosts:write": _("Add hosts and set prices"),
    "account:read": _("See the account log"),
    "account:write": _("Change the profile"),
    "tokens:write": _("See, create and revoke API tokens"),
    "webhooks:read": _("See webhooks, notification channels and their deliveries"),
    "webhooks:write": _("Add, change, test and remove webhooks and notification channels"),
}


class ProfileForm(forms.Form):
    display_name = NameField(
        label=_("Name"), max_length=80, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    is_host_owner = forms.BooleanField(
        label=_("I offer GPUs on Berth"), required=False, help_text=_("Adds the pages for your hosts, prices and earnings.")
    )


class SshKeyForm(forms.Form):
    public_key = forms.CharField(
        label=_("Public key"),
        max_length=MAX_SSH_KEY_CHARS,
        widget=forms.Textarea(
            attrs={
                "rows": 3,
                "class": "font-monospace",
                "placeholder": "ssh-ed25519 AAAA… you@laptop",
                "spellcheck": "false",
            }
        ),
        help_text=_("Paste your .pub file. To create a key, run: ssh-keygen -t ed25519"),
    )
    name = NameField(label=_("Name"), max_length=80, required=False, help_text=_("Leave blank to use the key's comment."))


class TokenForm(forms.Form):
    name = NameField(label=_("Name"), max_length=80, help_text=_("The program that will use the token."))
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=[(scope, SCOPE_LABELS.get(scope, text)) for scope, text in SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
        initial=["instances:read", "instances:write", "billing:read"],
    )
    lifetime = forms.ChoiceField(label=_("Valid for"), choices=list(_LIFETIMES.items()), required=False, initial="90")

    def clean(self) -> dict[str, Any]:
        """Add `expires_at`, which the service takes, from the chosen lifetime."""
        cleaned = super().clean() or self.cleaned_data
        days = cleaned.pop("lifetime", "")
        cleaned["expires_at"] = clock.now() + timedelta(days=int(days)) if days else None
        return cleaned
