"""Forms of the settings pages."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.constants import MAX_SSH_KEY_CHARS, SCOPES
from common import clock
from common.http.fields import NameField

_LIFETIMES = {"30": _("30 days"), "90": _("90 days"), "365": _("1 year"), "": _("No end")}
SCOPE_WORDS = {
    "instances:read": _("See instances and quotes"),
    "instances:write": _("Rent, stop, start and release instances"),
    "instances:connect": _("Connect to instances: terminal, files, tunnels, JupyterLab, passwords, SSH keys, ports"),
    "storage:read": _("See volumes, snapshots and public data sets"),
    "storage:write": _("Make, attach, copy, restore and delete volumes and snapshots"),
    "billing:read": _("See the wallet and the statement"),
    "billing:write": _("Top up, redeem coupons, set limits and be paid out"),
    "keys:read": _("See SSH keys"),
    "keys:write": _("Remove SSH keys; add them if it may also connect to instances"),
    "hosts:read": _("See own hosts and earnings"),
    "hosts:write": _("Enrol hosts and set prices"),
    "account:read": _("See the account's log"),
    "account:write": _("Change the profile"),
    "tokens:write": _("See, create and revoke API tokens"),
    "webhooks:read": _("See webhooks and what was sent to them"),
    "webhooks:write": _("Add, change, test and remove webhooks"),
}


class ProfileForm(forms.Form):
    display_name = NameField(
        label=_("Name"), max_length=80, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    is_host_owner = forms.BooleanField(
        label=_("I offer GPUs on Berth"), required=False, help_text=_("Opens the panel for your hosts, prices and earnings.")
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
        help_text=_("The content of your .pub file. Make a key with: ssh-keygen -t ed25519"),
    )
    name = NameField(
        label=_("Name"), max_length=80, required=False, help_text=_("Left empty, the key's comment is its name.")
    )


class TokenForm(forms.Form):
    name = NameField(label=_("Name"), max_length=80, help_text=_("Which program will use it."))
    scopes = forms.MultipleChoiceField(
        label=_("It may"),
        choices=[(scope, SCOPE_WORDS.get(scope, text)) for scope, text in SCOPES.items()],
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
