"""What happened to an account, in words, for its page and for mail."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TITLES: Final[dict[str, str | Promise]] = {
    "login": _("Signed in"),
    "login.new_device": _("Signed in on a new device"),
    "login.failed": _("Sign-in failed"),
    "signup.again": _("Somebody tried to sign up with your address"),
    "session.ended": _("A session was signed out"),
    "session.all_ended": _("Signed out everywhere"),
    "password.changed": _("Password changed"),
    "password.reset": _("Password reset by mail"),
    "email.added": _("E-mail address added"),
    "email.changed": _("E-mail address changed"),
    "email.removed": _("E-mail address removed"),
    "factor.added": _("Two-factor authentication set up"),
    "factor.removed": _("Two-factor authentication removed or renewed"),
    "factor.failed": _("Wrong two-factor code"),
    "token.created": _("API token created"),
    "token.revoked": _("API token revoked"),
    "token.all_revoked": _("All API tokens revoked"),
    "key.added": _("SSH key added"),
    "key.removed": _("SSH key removed"),
    "webhook.added": _("Webhook added"),
    "webhook.removed": _("Webhook removed"),
    "webhook.rotated": _("Webhook secret renewed"),
    "profile.changed": _("Profile changed"),
    "team.created": _("Team made"),
    "team.deleted": _("Team deleted"),
    "team.invited": _("Invitation to a team sent"),
    "team.joined": _("Joined a team"),
    "team.left": _("Left a team, or was removed"),
    "team.role": _("Role in a team changed"),
    "payout_account.changed": _("Payout account changed"),
    "payout.asked": _("Payout asked for"),
    "limit.set": _("Budget set"),
    "limit.changed": _("Budget changed"),
    "limit.removed": _("Budget removed"),
    "limit.auto_top_up": _("Automatic top-up changed"),
}


def title_of(kind: str) -> str | Promise:
    return TITLES[kind]
