"""Texts of an account's events, for its page and for mail."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TITLES: Final[dict[str, str | Promise]] = {
    "login": _("Signed in"),
    "login.new_device": _("Signed in on a new device"),
    "login.failed": _("Sign-in failed"),
    "signup.again": _("Someone tried to sign up with your email address"),
    "session.ended": _("Session signed out"),
    "session.all_ended": _("Signed out everywhere"),
    "password.changed": _("Password changed"),
    "password.reset": _("Password reset by email"),
    "email.added": _("Email address added"),
    "email.changed": _("Email address changed"),
    "email.removed": _("Email address removed"),
    "factor.added": _("Two-factor authentication set up"),
    "factor.removed": _("Two-factor authentication turned off or changed"),
    "factor.failed": _("Wrong two-factor code"),
    "token.created": _("API token created"),
    "token.revoked": _("API token revoked"),
    "token.all_revoked": _("All API tokens revoked"),
    "key.added": _("SSH key added"),
    "key.removed": _("SSH key removed"),
    "webhook.added": _("Webhook added"),
    "webhook.removed": _("Webhook removed"),
    "webhook.rotated": _("Webhook secret rotated"),
    "channel.added": _("Notification channel added"),
    "channel.changed": _("Notification channel changed"),
    "channel.removed": _("Notification channel removed"),
    "channel.stopped": _("Notification channel turned off after failures"),
    "profile.changed": _("Profile changed"),
    "team.created": _("Team created"),
    "team.deleted": _("Team deleted"),
    "team.invited": _("Team invitation sent"),
    "team.joined": _("Joined a team"),
    "team.left": _("Left or was removed from a team"),
    "team.role": _("Team role changed"),
    "payout_account.changed": _("Payout account changed"),
    "payout.asked": _("Payout requested"),
    "template.created": _("Template created"),
    "template.version": _("Template version added"),
    "template.visibility": _("Template visibility changed"),
    "template.link": _("Template share link changed"),
    "template.deleted": _("Template deleted"),
    "template.approved": _("Template version approved"),
    "template.rejected": _("Template version rejected"),
    "limit.set": _("Budget set"),
    "limit.changed": _("Budget changed"),
    "limit.removed": _("Budget removed"),
    "limit.auto_top_up": _("Auto top-up changed"),
}


def title_of(kind: str) -> str | Promise:
    return TITLES[kind]
