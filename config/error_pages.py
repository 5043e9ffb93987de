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
from common.refusals import TITLES
from config.constants import PROGRAM_PREFIXES
from config.failure_messages import FAILURES, UNKNOWN_FAILURE, FailureMessage

register = template.Library()


# By the error's stable code, or by that code and the code of its first field error.
FAULTS: dict[str, FailureMessage] = {
    "gpu_taken": FailureMessage(
        TITLES["gpu_taken"],
        _("You weren't charged. Choose fewer GPUs, or another offer."),
    ),
    "price_changed": FailureMessage(
        TITLES["price_changed"],
        _("You weren't charged. Check the updated price and confirm again."),
    ),
    "offer_closed": FailureMessage(
        TITLES["offer_closed"],
        _("The host has paused new rentals. You weren't charged; choose another offer."),
    ),
    "template_unfit": FailureMessage(TITLES["template_unfit"], _("Choose another offer, or rent without the template.")),
    "template_image_changed": FailureMessage(
        TITLES["template_image_changed"],
        _("Nothing was rented. Save a new version of the template, or choose another image."),
    ),
    "template_name_taken": FailureMessage(TITLES["template_name_taken"], _("Choose another name.")),
    "template_is_public": FailureMessage(
        TITLES["template_is_public"], _("It's reviewed again when you make it public the next time.")
    ),
    "template_image_not_shared": FailureMessage(
        TITLES["template_image_not_shared"], _("Share the image first, or use an official or community image.")
    ),
    "docker_option_refused": FailureMessage(TITLES["docker_option_refused"], _("Remove the option and import it again.")),
    "device_code_unknown": FailureMessage(
        TITLES["device_code_unknown"], _("Codes are valid for ten minutes. Run berth login again for a new one.")
    ),
    "copy_damaged": FailureMessage(
        TITLES["copy_damaged"], _("You weren't charged, and the original is unchanged. Try again.")
    ),
    "line_lost": FailureMessage(
        TITLES["line_lost"],
        _("You weren't charged, and the original is unchanged. Try again, or choose another host."),
    ),
    "root_missing": FailureMessage(
        TITLES["root_missing"],
        _("You weren't charged. See the instance's activity, and contact support."),
    ),
    "disk_missing": FailureMessage(
        TITLES["disk_missing"],
        _("You weren't charged. See the instance's activity, and contact support."),
    ),
    "bad_parcel": FailureMessage(
        TITLES["bad_parcel"],
        _("You weren't charged, and we've been notified. Choose another host."),
    ),
    "host_still_reports": FailureMessage(
        TITLES["host_still_reports"],
        _("Schedule maintenance, or pause new rentals and retire the host. If its agent can't be trusted, revoke its key."),
    ),
    "udp_unsupported": FailureMessage(TITLES["udp_unsupported"], _("Choose another host, or leave the UDP ports out.")),
    "no_ports": FailureMessage(TITLES["no_ports"], _("You weren't charged; choose another offer.")),
    "no_cpu_room": FailureMessage(
        TITLES["no_cpu_room"],
        _("You weren't charged. Try again later, or start the instance with its GPUs."),
    ),
    "not_running": FailureMessage(TITLES["not_running"], _("Start the instance, then try again.")),
    "no_way_in": FailureMessage(
        TITLES["no_way_in"],
        _("The relay has no ports open for such hosts. Add a machine that can be reached from outside."),
    ),
    "not_host_owner": FailureMessage(TITLES["not_host_owner"], _("Turn on “I offer GPUs on Berth” in your profile first.")),
    "insufficient_funds": FailureMessage(
        TITLES["insufficient_funds"],
        _("You weren't charged. Top up, choose fewer GPUs, or stop an instance."),
    ),
    "debt_unpaid": FailureMessage(
        TITLES["debt_unpaid"],
        _("Your account, or one that shares your card or payout account, has an unpaid debt. Top it up to order again."),
    ),
    "budget_exceeded": FailureMessage(
        TITLES["budget_exceeded"],
        _("You weren't charged. The person who set the budget can raise or remove it under Billing > Budgets."),
    ),
    "budget_exists": FailureMessage(TITLES["budget_exists"], _("Change its limit below instead.")),
    "not_transferable": FailureMessage(
        TITLES["not_transferable"], _("You can only transfer your own funds that aren't on hold.")
    ),
    "already_member": FailureMessage(TITLES["already_member"], ""),
    "invitation_expired": FailureMessage(
        TITLES["invitation_expired"], _("Ask the person who invited you for a new invitation.")
    ),
    "last_owner": FailureMessage(
        TITLES["last_owner"],
        _("Make another member an owner first, or delete the team once it's empty."),
    ),
    "coupon_unknown": FailureMessage(TITLES["coupon_unknown"], _("Check each character; 0 and O are easily confused.")),
    "coupon_withdrawn": FailureMessage(TITLES["coupon_withdrawn"], ""),
    "coupon_expired": FailureMessage(
        TITLES["coupon_expired"], _("Coupons you redeemed before are listed below and stay valid.")
    ),
    "coupon_redeemed": FailureMessage(
        TITLES["coupon_redeemed"],
        _("You've reached the limit per person for this code. Your coupons are listed below."),
    ),
    "coupon_gone": FailureMessage(TITLES["coupon_gone"], ""),
    "payments_off": FailureMessage(TITLES["payments_off"], _("Stripe isn't set up. You weren't charged.")),
    "stripe_unreachable": FailureMessage(
        TITLES["stripe_unreachable"], _("You weren't charged twice. Try again in a minute.")
    ),
    "stripe_refused": FailureMessage(
        TITLES["stripe_refused"], _("You weren't charged. If this continues, contact support.")
    ),
    "card_refused": FailureMessage(TITLES["card_refused"], _("You weren't charged. Try another card.")),
    "refund_refused": FailureMessage(
        TITLES["refund_refused"],
        _("Only the unspent part of a payment can be refunded, within 14 days. For anything else, contact support."),
    ),
    "no_saved_card": FailureMessage(
        TITLES["no_saved_card"], _("Save a card first. It is charged when your balance is low.")
    ),
    "no_payout_account": FailureMessage(TITLES["no_payout_account"], _("Add a payout account first.")),
    "payouts_frozen": FailureMessage(TITLES["payouts_frozen"], _("Your earnings are safe. Contact support for details.")),
    "payout_under_way": FailureMessage(TITLES["payout_under_way"], _("Request the next one once it arrives.")),
    "not_payable": FailureMessage(
        TITLES["not_payable"],
        _("See the page for the amount held, the reason and the date."),
    ),
    "quote_expired": FailureMessage(
        TITLES["quote_expired"],
        _("You weren't charged. Check the updated price and confirm again."),
    ),
    "quote_used": FailureMessage(
        TITLES["quote_used"],
        _("See your instances: the order is there. You weren't charged twice."),
    ),
    "quote_mismatch": FailureMessage(
        TITLES["quote_mismatch"],
        _("You weren't charged. Check the updated price and confirm again."),
    ),
    "search_name_taken": FailureMessage(
        TITLES["search_name_taken"], _("Choose another name, or delete the old search first.")
    ),
    "host_not_online": FailureMessage(
        TITLES["host_not_online"], _("Start its agent, wait until the host is online, then try again.")
    ),
    "log_unavailable": FailureMessage(
        TITLES["log_unavailable"], _("The host isn't reporting. Logs are available again once it does.")
    ),
    "allow_list_not_kept": FailureMessage(
        TITLES["allow_list_not_kept"], _("Nothing was changed. Use SSH keys only, or choose another host.")
    ),
    "launch_unsupported": FailureMessage(
        TITLES["launch_unsupported"],
        _("You weren't charged. Choose another host, or leave them out."),
    ),
    "secrets_erased": FailureMessage(TITLES["secrets_erased"], _("Enter their values again.")),
    "web_links_off": FailureMessage(TITLES["web_links_off"], _("Use the direct link instead.")),
    "locked": FailureMessage(
        TITLES["locked"], _("Turn off release protection on its page, under Schedule. Nothing was changed.")
    ),
    "bid_barred": FailureMessage(TITLES["bid_barred"], _("Rent on demand, or bid on another offer.")),
    "unlawful_action": FailureMessage(
        TITLES["unlawful_action"],
        _("The state may have just changed. The page now shows the current state."),
    ),
    "stale": FailureMessage(
        TITLES["stale"],
        _("Nothing was changed. Check the current state and try again."),
    ),
    "busy": FailureMessage(TITLES["busy"], _("Nothing was changed. Try again in a few seconds.")),
    "disk_too_large": FailureMessage(TITLES["disk_too_large"], _("Choose a smaller data disk, or another offer.")),
    "invalid_input": FailureMessage(TITLES["invalid_input"], _("Check what you entered and try again.")),
    "search_syntax": FailureMessage(TITLES["search_syntax"], _("Check the search syntax in the market.")),
    "invalid_ssh_key": FailureMessage(
        TITLES["invalid_ssh_key"],
        _("Copy the whole line of your .pub file; it begins with ssh-ed25519 or ssh-rsa."),
    ),
    "invalid_ssh_key.private_key": FailureMessage(
        TITLES["invalid_ssh_key.private_key"], _("Paste the content of the .pub file instead.")
    ),
    "invalid_ssh_key.too_weak": FailureMessage(
        TITLES["invalid_ssh_key.too_weak"], _("Create a new key with ssh-keygen -t ed25519 and paste its .pub file.")
    ),
    "invalid_ssh_key.many_lines": FailureMessage(
        TITLES["invalid_ssh_key.many_lines"], _("Paste one public key, on one line.")
    ),
    "invalid_ssh_key.options": FailureMessage(
        TITLES["invalid_ssh_key.options"], _("The line must start with the key type, such as ssh-ed25519.")
    ),
    "invalid_ssh_key.certificate": FailureMessage(
        TITLES["invalid_ssh_key.certificate"], _("Paste the content of the .pub file that was signed.")
    ),
    "ssh_key_exists": FailureMessage(TITLES["ssh_key_exists"], _("Use the existing key.")),
    "image_missing": FailureMessage(TITLES["image_missing"], _("You weren't charged. Check the image name and tag.")),
    "image_private": FailureMessage(
        TITLES["image_private"], _("You weren't charged. Save a login for the registry under My images, and try again.")
    ),
    "image_too_large": FailureMessage(
        TITLES["image_too_large"], _("You weren't charged. Choose a host with more free disk space, or a smaller image.")
    ),
    "image_wrong_architecture": FailureMessage(
        TITLES["image_wrong_architecture"],
        _("You weren't charged. Choose an image built for linux/amd64."),
    ),
    "image_needs_cuda": FailureMessage(
        TITLES["image_needs_cuda"],
        _("You weren't charged. Choose an offer with this or a later CUDA version, or an older image."),
    ),
    "image_unreadable": FailureMessage(
        TITLES["image_unreadable"], _("You weren't charged. Build and push the image again.")
    ),
    "image_elsewhere": FailureMessage(
        TITLES["image_elsewhere"],
        _("You weren't charged. Choose an offer on the host that the image is stored on."),
    ),
    "image_not_ready": FailureMessage(TITLES["image_not_ready"], _("Wait until it's saved, then try again.")),
    "image_not_shareable": FailureMessage(
        TITLES["image_not_shareable"], _("Other users can't pull it from its private registry.")
    ),
    "image_name_taken": FailureMessage(TITLES["image_name_taken"], _("Choose another name for your shared image.")),
    "image_being_saved": FailureMessage(TITLES["image_being_saved"], _("Wait until that image is ready.")),
    "registry_unreachable": FailureMessage(
        TITLES["registry_unreachable"], _("You weren't charged. Check the registry name, or try again later.")
    ),
    "registry_busy": FailureMessage(TITLES["registry_busy"], _("You weren't charged. Try again in a few minutes.")),
    "registry_login_refused": FailureMessage(
        TITLES["registry_login_refused"], _("Check the user name, and the password or access token.")
    ),
    "volume_busy": FailureMessage(
        TITLES["volume_busy"],
        _("Stop the instance and detach it, or wait until the operation finishes; then try again."),
    ),
    "volume_elsewhere": FailureMessage(
        TITLES["volume_elsewhere"],
        _(
            "Rent or start the instance with the volume to migrate it automatically, or migrate it first. "
            "Public datasets can only be used on their host."
        ),
    ),
    "volume_name_taken": FailureMessage(TITLES["volume_name_taken"], _("Choose another name.")),
    "snapshot_not_ready": FailureMessage(TITLES["snapshot_not_ready"], _("Wait until it's complete, then try again.")),
    "snapshot_in_use": FailureMessage(
        TITLES["snapshot_in_use"], _("It is shared, or a disk is being created from it. Nothing was changed.")
    ),
    "too_many_volumes": FailureMessage(TITLES["too_many_volumes"], _("Delete or detach one first.")),
    "no_storage": FailureMessage(TITLES["no_storage"], _("You weren't charged. Choose a smaller size or another host.")),
    "storage_unreachable": FailureMessage(TITLES["storage_unreachable"], _("Check the endpoint. Nothing was saved.")),
    "storage_login_refused": FailureMessage(
        TITLES["storage_login_refused"], _("Check the key and its permission to list this folder.")
    ),
    "bucket_missing": FailureMessage(TITLES["bucket_missing"], _("Create the bucket there first, or check its name.")),
    "connection_read_only": FailureMessage(TITLES["connection_read_only"], _("Use an access key with write permission.")),
    "connection_in_use": FailureMessage(TITLES["connection_in_use"], _("Choose another archive destination first.")),
    "connection_name_taken": FailureMessage(TITLES["connection_name_taken"], _("Choose another name.")),
    "payout_account_waits": FailureMessage(
        TITLES["payout_account_waits"], _("Payouts to it start three days after you add it. Nothing was paid out.")
    ),
    "payout_account_unfinished": FailureMessage(
        TITLES["payout_account_unfinished"], _("Finish setup under Payouts > Payout account. Nothing was paid out.")
    ),
    "confirmation_needed": FailureMessage(
        TITLES["confirmation_needed"],
        _("Do this on the website, where you can confirm your identity."),
    ),
    "too_many_codes": FailureMessage(
        TITLES["too_many_codes"],
        _("Nothing was redeemed. Check the code and try again in an hour."),
    ),
    "too_many_invitations": FailureMessage(
        TITLES["too_many_invitations"],
        _("Nothing was sent. Try again in an hour, or share a link that you already have."),
    ),
    "invited_lately": FailureMessage(
        TITLES["invited_lately"],
        _("The email is being sent and its link is still valid. You can invite this address again in 15 minutes."),
    ),
    "too_often": FailureMessage(TITLES["too_often"], _("Nothing was changed. Try again in a few minutes.")),
    "too_many": FailureMessage(TITLES["too_many"], _("Remove something that you no longer use.")),
    "not_found": FailureMessage(TITLES["not_found"], _("It was deleted or belongs to another account.")),
    "forbidden": FailureMessage(TITLES["forbidden"], _("Sign in with an account that has permission.")),
}


def fault_of(error: DomainError) -> FailureMessage:
    """Return the words for an error: those of its first wrong field, else those of its code."""
    detailed = f"{error.code}.{error.errors[0].code}" if error.errors else error.code
    known = FAULTS.get(detailed) or FAULTS.get(error.code)
    return known or FailureMessage(title=error.detail, advice="")


@register.filter
def fault(error: DomainError) -> FailureMessage:
    return fault_of(error)


@register.filter
def failure_text(code: str) -> FailureMessage:
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


def toast(request: HttpRequest, words: FailureMessage, *, status: int) -> HttpResponse:
    """Answer a request for a part of a page: the page stays, and a toast shows the error."""
    response = render(request, "components/fault_toast.html", {"fault": words}, status=status)
    response["HX-Retarget"], response["HX-Reswap"] = "#toasts", "beforeend"
    return response


def _referring_page(request: HttpRequest) -> str:
    """Return the page that held the form, if it is one of ours."""
    parts = page_from_header(request, "Referer")
    return parts.path if parts.netloc == request.get_host() and parts.path != request.path else "/instances"
