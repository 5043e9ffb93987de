"""Errors for pages in plain words: what happened and what to do, in the reader's language."""

from collections.abc import Callable

from django import template
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from common.errors import DomainError, NotFound
from common.http.origin import page_from_header
from common.http.problems import add_retry_after
from config.constants import PROGRAM_PREFIXES
from config.failure_messages import FAILURES, UNKNOWN_FAILURE, Fault

register = template.Library()


# By the error's stable code, or by that code and the code of its first field error.
FAULTS: dict[str, Fault] = {
    "gpu_taken": Fault(
        _("These GPUs were just rented by someone else."),
        _("You weren't charged. Choose fewer GPUs, or another offer."),
    ),
    "price_changed": Fault(
        _("The price changed before you confirmed."),
        _("You weren't charged. Check the updated price and confirm again."),
    ),
    "offer_closed": Fault(
        _("This offer isn't available right now."),
        _("The host has paused new rentals. You weren't charged; choose another offer."),
    ),
    "copy_damaged": Fault(
        _("The copy was damaged in transit."), _("You weren't charged, and the original is unchanged. Try again.")
    ),
    "line_lost": Fault(
        _("The two hosts couldn't connect to each other."),
        _("You weren't charged, and the original is unchanged. Try again, or choose another host."),
    ),
    "root_missing": Fault(
        _("The system disk no longer exists on its host."),
        _("You weren't charged. See the instance's activity, and contact support."),
    ),
    "disk_missing": Fault(
        _("The data disk no longer exists on its host."),
        _("You weren't charged. See the instance's activity, and contact support."),
    ),
    "bad_parcel": Fault(
        _("The host sent data that doesn't match this instance."),
        _("You weren't charged, and we've been notified. Choose another host."),
    ),
    "host_still_reports": Fault(
        _("This host is still reporting."),
        _("Schedule maintenance, or pause new rentals and retire the host. If its agent can't be trusted, revoke its key."),
    ),
    "no_ports": Fault(_("This host has no free ports."), _("You weren't charged; choose another offer.")),
    "no_cpu_room": Fault(
        _("The host can't start more instances without GPU right now."),
        _("You weren't charged. Try again later, or start the instance with its GPUs."),
    ),
    "not_running": Fault(_("This instance isn't running."), _("Start the instance, then try again.")),
    "no_way_in": Fault(
        _("Hosts behind NAT aren't supported here."),
        _("The relay has no ports open for such hosts. Add a machine that can be reached from outside."),
    ),
    "not_host_owner": Fault(_("Only host owners can do this."), _("Turn on “I offer GPUs on Berth” in your profile first.")),
    "insufficient_funds": Fault(
        _("You don't have enough funds for the first hour."),
        _("You weren't charged. Top up, choose fewer GPUs, or stop an instance."),
    ),
    "debt_unpaid": Fault(
        _("You have an unpaid debt."),
        _("Your account, or one that shares your card or payout account, has an unpaid debt. Top it up to order again."),
    ),
    "budget_exceeded": Fault(
        _("This would exceed a budget."),
        _("You weren't charged. The person who set the budget can raise or remove it under Billing > Budgets."),
    ),
    "budget_exists": Fault(_("This budget already exists."), _("Change its limit below instead.")),
    "not_transferable": Fault(
        _("These funds can't be transferred."), _("You can only transfer your own funds that aren't on hold.")
    ),
    "already_member": Fault(_("This person is already in the team."), ""),
    "invitation_expired": Fault(
        _("This invitation has expired."), _("Ask the person who invited you for a new invitation.")
    ),
    "last_owner": Fault(
        _("The last owner can't leave the team."),
        _("Make another member an owner first, or delete the team once it's empty."),
    ),
    "coupon_unknown": Fault(_("This coupon code doesn't exist."), _("Check each character; 0 and O are easily confused.")),
    "coupon_withdrawn": Fault(_("This code has been withdrawn."), ""),
    "coupon_expired": Fault(_("This code has expired."), _("Coupons you redeemed before are listed below and stay valid.")),
    "coupon_redeemed": Fault(
        _("You already redeemed this code."),
        _("You've reached the limit per person for this code. Your coupons are listed below."),
    ),
    "coupon_gone": Fault(_("This code has been fully redeemed."), ""),
    "payments_off": Fault(_("Card payments aren't available."), _("Stripe isn't set up. You weren't charged.")),
    "stripe_unreachable": Fault(
        _("Stripe isn't responding right now."), _("You weren't charged twice. Try again in a minute.")
    ),
    "stripe_refused": Fault(
        _("Stripe declined this request."), _("You weren't charged. If this continues, contact support.")
    ),
    "card_refused": Fault(_("The card was declined."), _("You weren't charged. Try another card.")),
    "refund_refused": Fault(
        _("This can't be refunded to the card."),
        _("Only the unspent part of a payment can be refunded, within 14 days. For anything else, contact support."),
    ),
    "no_saved_card": Fault(_("No saved card."), _("Save a card first. It is charged when your balance is low.")),
    "no_payout_account": Fault(_("You haven't added a payout account yet."), _("Add a payout account first.")),
    "payouts_frozen": Fault(
        _("Support has suspended payouts for this account."), _("Your earnings are safe. Contact support for details.")
    ),
    "payout_under_way": Fault(_("A payout is already in progress."), _("Request the next one once it arrives.")),
    "not_payable": Fault(
        _("The available amount is below the minimum payout."),
        _("See the page for the amount held, the reason and the date."),
    ),
    "quote_expired": Fault(
        _("This quote has expired (quotes are valid for 10 minutes)."),
        _("You weren't charged. Check the updated price and confirm again."),
    ),
    "quote_used": Fault(
        _("This order has already been placed."),
        _("See your instances: the order is there. You weren't charged twice."),
    ),
    "quote_mismatch": Fault(
        _("The order doesn't match the quote."),
        _("You weren't charged. Check the updated price and confirm again."),
    ),
    "search_name_taken": Fault(
        _("You already have a saved search with this name."), _("Choose another name, or delete the old search first.")
    ),
    "host_not_online": Fault(
        _("This host isn't reporting right now."), _("Start its agent, wait until the host is online, then try again.")
    ),
    "log_unavailable": Fault(
        _("Logs aren't available right now."), _("The host isn't reporting. Logs are available again once it does.")
    ),
    "allow_list_not_kept": Fault(
        _("This host can't restrict SSH by address."), _("Nothing was changed. Use SSH keys only, or choose another host.")
    ),
    "web_links_off": Fault(_("Opening instance web pages isn't available here."), _("Use the direct link instead.")),
    "locked": Fault(
        _("The instance is protected."), _("Turn off release protection on its page, under Schedule. Nothing was changed.")
    ),
    "bid_barred": Fault(_("You can't bid on your own or your team's GPUs."), _("Rent on demand, or bid on another offer.")),
    "unlawful_action": Fault(
        _("This isn't possible in the instance's current state."),
        _("The state may have just changed. The page now shows the current state."),
    ),
    "stale": Fault(
        _("Something else changed at the same time."),
        _("Nothing was changed. Check the current state and try again."),
    ),
    "busy": Fault(_("Berth is busy right now."), _("Nothing was changed. Try again in a few seconds.")),
    "disk_too_large": Fault(
        _("The host doesn't have enough disk space."), _("Choose a smaller data disk, or another offer.")
    ),
    "invalid_input": Fault(_("Check the highlighted fields."), _("Check what you entered and try again.")),
    "search_syntax": Fault(_("Invalid search"), _("Check the search syntax in the market.")),
    "invalid_ssh_key": Fault(
        _("This isn't a valid SSH public key."),
        _("Copy the whole line of your .pub file; it begins with ssh-ed25519 or ssh-rsa."),
    ),
    "invalid_ssh_key.private_key": Fault(
        _("This is a private key. Never share it."), _("Paste the content of the .pub file instead.")
    ),
    "invalid_ssh_key.too_weak": Fault(
        _("This key is too weak."), _("Create a new key with ssh-keygen -t ed25519 and paste its .pub file.")
    ),
    "invalid_ssh_key.many_lines": Fault(_("This is more than one line."), _("Paste one public key, on one line.")),
    "invalid_ssh_key.options": Fault(
        _("Options before the key aren't allowed."), _("The line must start with the key type, such as ssh-ed25519.")
    ),
    "invalid_ssh_key.certificate": Fault(
        _("This is a certificate, not a key."), _("Paste the content of the .pub file that was signed.")
    ),
    "ssh_key_exists": Fault(_("This SSH key is already in your account."), _("Use the existing key.")),
    "image_missing": Fault(
        _("The image doesn't exist in the registry."), _("You weren't charged. Check the image name and tag.")
    ),
    "image_private": Fault(
        _("This image is private."), _("You weren't charged. Save a login for the registry under My images, and try again.")
    ),
    "image_too_large": Fault(
        _("The image is too large."), _("You weren't charged. Choose a host with more free disk space, or a smaller image.")
    ),
    "image_wrong_architecture": Fault(
        _("The image is built for another processor architecture."),
        _("You weren't charged. Choose an image built for linux/amd64."),
    ),
    "image_needs_cuda": Fault(
        _("The image needs a newer CUDA version than this host supports."),
        _("You weren't charged. Choose an offer with this or a later CUDA version, or an older image."),
    ),
    "image_unreadable": Fault(
        _("The registry didn't return a runnable image."), _("You weren't charged. Build and push the image again.")
    ),
    "image_elsewhere": Fault(
        _("This image is stored on another host."),
        _("You weren't charged. Choose an offer on the host that the image is stored on."),
    ),
    "image_not_ready": Fault(_("The image isn't ready."), _("Wait until it's saved, then try again.")),
    "image_not_shareable": Fault(
        _("This image can't be shared."), _("Other users can't pull it from its private registry.")
    ),
    "image_name_taken": Fault(
        _("This name is taken by another community image."), _("Choose another name for your shared image.")
    ),
    "image_being_saved": Fault(_("An image of this instance is already being saved."), _("Wait until that image is ready.")),
    "registry_unreachable": Fault(
        _("Can't reach the registry right now."), _("You weren't charged. Check the registry name, or try again later.")
    ),
    "registry_busy": Fault(
        _("The registry's rate limit was reached."), _("You weren't charged. Try again in a few minutes.")
    ),
    "registry_login_refused": Fault(
        _("The user name or password is incorrect."), _("Check the user name, and the password or access token.")
    ),
    "volume_busy": Fault(
        _("The volume or disk is in use, or another operation is running on it."),
        _("Stop the instance and detach it, or wait until the operation finishes; then try again."),
    ),
    "volume_elsewhere": Fault(
        _("It is stored on another host."),
        _(
            "Rent or start the instance with the volume to migrate it automatically, or migrate it first. "
            "Public datasets can only be used on their host."
        ),
    ),
    "volume_name_taken": Fault(_("You already have a volume with this name."), _("Choose another name.")),
    "snapshot_not_ready": Fault(_("The snapshot isn't ready."), _("Wait until it's complete, then try again.")),
    "snapshot_in_use": Fault(
        _("The snapshot is in use."), _("It is shared, or a disk is being created from it. Nothing was changed.")
    ),
    "too_many_volumes": Fault(_("The limit has been reached."), _("Delete or detach one first.")),
    "no_storage": Fault(
        _("The host doesn't have enough space right now."), _("You weren't charged. Choose a smaller size or another host.")
    ),
    "storage_unreachable": Fault(_("Can't reach the object storage."), _("Check the endpoint. Nothing was saved.")),
    "storage_login_refused": Fault(
        _("The object storage rejected this access key."), _("Check the key and its permission to list this folder.")
    ),
    "bucket_missing": Fault(_("The bucket doesn't exist."), _("Create the bucket there first, or check its name.")),
    "connection_read_only": Fault(
        _("This connection's access key doesn't have write permission."), _("Use an access key with write permission.")
    ),
    "connection_in_use": Fault(
        _("Data is archived to this connection before its deletion."), _("Choose another archive destination first.")
    ),
    "connection_name_taken": Fault(_("You already have a connection with this name."), _("Choose another name.")),
    "payout_account_waits": Fault(
        _("Your payout account is new."), _("Payouts to it start three days after you add it. Nothing was paid out.")
    ),
    "payout_account_unfinished": Fault(
        _("Your Stripe account isn't set up yet."), _("Finish setup under Payouts > Payout account. Nothing was paid out.")
    ),
    "confirmation_needed": Fault(
        _("Confirm this with your password or second factor."),
        _("Do this on the website, where you can confirm your identity."),
    ),
    "too_many_codes": Fault(
        _("Too many attempts."),
        _("Nothing was redeemed. Check the code and try again in an hour."),
    ),
    "too_many_invitations": Fault(
        _("Too many invitations."),
        _("Nothing was sent. Try again in an hour, or share a link that you already have."),
    ),
    "invited_lately": Fault(
        _("You just invited this address."),
        _("The email is being sent and its link is still valid. You can invite this address again in 15 minutes."),
    ),
    "too_often": Fault(_("Too many attempts."), _("Nothing was changed. Try again in a few minutes.")),
    "too_many": Fault(_("You've reached your account's limit."), _("Remove something that you no longer use.")),
    "not_found": Fault(_("Not found."), _("It was deleted or belongs to another account.")),
    "forbidden": Fault(_("You don't have access to this."), _("Sign in with an account that has permission.")),
}


def fault_of(error: DomainError) -> Fault:
    """Return the words for an error: those of its first wrong field, else those of its code."""
    detailed = f"{error.code}.{error.errors[0].code}" if error.errors else error.code
    known = FAULTS.get(detailed) or FAULTS.get(error.code)
    return known or Fault(title=error.detail, advice="")


@register.filter
def fault(error: DomainError) -> Fault:
    return fault_of(error)


@register.filter
def failure_words(code: str) -> Fault:
    """Return why an instance failed, in words."""
    return FAILURES.get(code, UNKNOWN_FAILURE)


class ErrorPageMiddleware:
    """Middleware that shows a service's error as a page, a toast, or a message after a redirect."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, DomainError) or request.path_info.startswith(PROGRAM_PREFIXES):
            return None
        words = fault_of(exception)
        if request.htmx:  # type: ignore[attr-defined] # set by HtmxMiddleware
            return add_retry_after(toast(request, words, status=exception.status), exception)
        if isinstance(exception, NotFound):
            return render(request, "404.html", {"fault": words}, status=404)
        if request.method == "POST":
            messages.error(request, f"{words.title} {words.advice}")
            return HttpResponseRedirect(_referring_page(request), status=303)
        return add_retry_after(render(request, "fault.html", {"fault": words}, status=exception.status), exception)


def toast(request: HttpRequest, words: Fault, *, status: int) -> HttpResponse:
    """Answer a request for a part of a page: the page stays, and a toast shows the error."""
    response = render(request, "components/fault_toast.html", {"fault": words}, status=status)
    response["HX-Retarget"], response["HX-Reswap"] = "#toasts", "beforeend"
    return response


def _referring_page(request: HttpRequest) -> str:
    """Return the page that held the form, if it is one of ours."""
    parts = page_from_header(request, "Referer")
    return parts.path if parts.netloc == request.get_host() and parts.path != request.path else "/instances"
