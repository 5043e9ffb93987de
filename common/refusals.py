"""Errors of the market in a reader's words, by their stable codes; and the message that keeps one in a row.

In English a message shows the error's own sentence; in other languages the title of its code.
"""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import lazy
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from common.errors import DomainError
from common.messages.message import English, Message, Words
from common.messages.rendering import plain

TITLES: Final[Mapping[str, Words]] = {
    "gpu_taken": _("These GPUs were just rented by someone else."),
    "price_changed": _("The price changed before you confirmed."),
    "offer_closed": _("This offer isn't available right now."),
    "launch_unsupported": _("This host's agent is too old for an environment or start command."),
    "template_unfit": _("This offer doesn't have what the template needs."),
    "template_image_changed": _("The template's image has changed since this version was saved."),
    "template_name_taken": _("You already have a template with this name."),
    "template_is_public": _("Make the template private before you change its title or description."),
    "template_image_not_shared": _("Others can't run this template's image."),
    "docker_option_refused": _("This docker run command can't become a template."),
    "device_code_unknown": _("This code is unknown or has expired."),
    "secrets_erased": _("The secrets are no longer stored."),
    "copy_damaged": _("The copy was damaged in transit."),
    "line_lost": _("The two hosts couldn't connect to each other."),
    "root_missing": _("The system disk no longer exists on its host."),
    "disk_missing": _("The data disk no longer exists on its host."),
    "bad_parcel": _("The host sent data that doesn't match this instance."),
    "host_still_reports": _("This host is still reporting."),
    "udp_unsupported": _("This host can't publish UDP ports."),
    "no_ports": _("This host has no free ports."),
    "no_cpu_room": _("The host can't start more instances without GPU right now."),
    "not_running": _("This instance isn't running."),
    "no_way_in": _("Hosts behind NAT aren't supported here."),
    "not_host_owner": _("Only host owners can do this."),
    "insufficient_funds": _("You don't have enough funds for the first hour."),
    "debt_unpaid": _("You have an unpaid debt."),
    "budget_exceeded": _("This would exceed a budget."),
    "budget_exists": _("This budget already exists."),
    "not_transferable": _("These funds can't be transferred."),
    "already_member": _("This person is already in the team."),
    "invitation_expired": _("This invitation has expired."),
    "last_owner": _("The last owner can't leave the team."),
    "coupon_unknown": _("This coupon code doesn't exist."),
    "coupon_withdrawn": _("This code has been withdrawn."),
    "coupon_expired": _("This code has expired."),
    "coupon_redeemed": _("You already redeemed this code."),
    "coupon_gone": _("This code has been fully redeemed."),
    "payments_off": _("Card payments aren't available."),
    "stripe_unreachable": _("Stripe isn't responding right now."),
    "stripe_refused": _("Stripe declined this request."),
    "card_refused": _("The card was declined."),
    "refund_refused": _("This can't be refunded to the card."),
    "no_saved_card": _("No saved card."),
    "no_payout_account": _("You haven't added a payout account yet."),
    "payouts_frozen": _("Support has suspended payouts for this account."),
    "payout_under_way": _("A payout is already in progress."),
    "not_payable": _("The available amount is below the minimum payout."),
    "quote_expired": _("This quote has expired (quotes are valid for 10 minutes)."),
    "quote_used": _("This order has already been placed."),
    "quote_mismatch": _("The order doesn't match the quote."),
    "search_name_taken": _("You already have a saved search with this name."),
    "host_not_online": _("This host isn't reporting right now."),
    "log_unavailable": _("Logs aren't available right now."),
    "allow_list_not_kept": _("This host can't restrict SSH by address."),
    "web_links_off": _("Opening instance web pages isn't available here."),
    "locked": _("The instance is protected."),
    "bid_barred": _("You can't bid on your own or your team's GPUs."),
    "unlawful_action": _("This isn't possible in the instance's current state."),
    "stale": _("Something else changed at the same time."),
    "busy": _("Berth is busy right now."),
    "disk_too_large": _("The host doesn't have enough disk space."),
    "invalid_input": _("Check the highlighted fields."),
    "search_syntax": _("Invalid search"),
    "invalid_ssh_key": _("This isn't a valid SSH public key."),
    "invalid_ssh_key.private_key": _("This is a private key. Never share it."),
    "invalid_ssh_key.too_weak": _("This key is too weak."),
    "invalid_ssh_key.many_lines": _("This is more than one line."),
    "invalid_ssh_key.options": _("Options before the key aren't allowed."),
    "invalid_ssh_key.certificate": _("This is a certificate, not a key."),
    "ssh_key_exists": _("This SSH key is already in your account."),
    "image_missing": _("The image doesn't exist in the registry."),
    "image_private": _("This image is private."),
    "image_too_large": _("The image is too large."),
    "image_wrong_architecture": _("The image is built for another processor architecture."),
    "image_needs_cuda": _("The image needs a newer CUDA version than this host supports."),
    "image_unreadable": _("The registry didn't return a runnable image."),
    "image_elsewhere": _("This image is stored on another host."),
    "image_not_ready": _("The image isn't ready."),
    "image_not_shareable": _("This image can't be shared."),
    "image_name_taken": _("This name is taken by another community image."),
    "image_being_saved": _("An image of this instance is already being saved."),
    "registry_unreachable": _("Can't reach the registry right now."),
    "registry_busy": _("The registry's rate limit was reached."),
    "registry_login_refused": _("The user name or password is incorrect."),
    "volume_busy": _("The volume or disk is in use, or another operation is running on it."),
    "volume_elsewhere": _("It is stored on another host."),
    "volume_name_taken": _("You already have a volume with this name."),
    "snapshot_not_ready": _("The snapshot isn't ready."),
    "snapshot_in_use": _("The snapshot is in use."),
    "too_many_volumes": _("The limit has been reached."),
    "no_storage": _("The host doesn't have enough space right now."),
    "storage_unreachable": _("Can't reach the object storage."),
    "storage_login_refused": _("The object storage rejected this access key."),
    "bucket_missing": _("The bucket doesn't exist."),
    "connection_read_only": _("This connection's access key doesn't have write permission."),
    "connection_in_use": _("Data is archived to this connection before its deletion."),
    "connection_name_taken": _("You already have a connection with this name."),
    "payout_account_waits": _("Your payout account is new."),
    "payout_account_unfinished": _("Your Stripe account isn't set up yet."),
    "confirmation_needed": _("Confirm this with your password or second factor."),
    "too_many_codes": _("Too many attempts."),
    "too_many_invitations": _("Too many invitations."),
    "invited_lately": _("You just invited this address."),
    "too_often": _("Too many attempts."),
    "too_many": _("You've reached your account's limit."),
    "not_found": _("Not found."),
    "forbidden": _("You don't have access to this."),
}


def _form() -> str:
    return "%(detail)s" if (get_language() or "en").startswith("en") else "%(title)s"


class Refused(Message, code="refused", text=lazy(_form, str)()):
    """Why the market did not do what was due; `reason` is the error's code, `detail` its English sentence."""

    reason: str
    detail: str

    def named(self) -> Mapping[str, Words]:
        return {"title": TITLES.get(self.reason, self.detail)}


def refused(error: DomainError) -> Message:
    """Return the error as a message; one whose code has no title exists in English alone."""
    known = error.code in TITLES
    return Refused(reason=error.code, detail=error.detail) if known else English(sentence=error.detail)


def error_message(error: DomainError) -> str:
    """Return the error in the active language."""
    return plain(refused(error))
