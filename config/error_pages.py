"""Errors for pages in plain words: what happened and what to do, in the reader's language."""

from collections.abc import Callable

from django import template
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from common.errors import DomainError, NotFound
from common.http.origin import page_named
from common.http.problems import with_wait
from config.constants import PROGRAM_PREFIXES
from config.failure_messages import FAILURES, UNKNOWN_FAILURE, Fault

register = template.Library()


# By the error's stable code, or by that code and the code of its first field error.
FAULTS: dict[str, Fault] = {
    "gpu_taken": Fault(
        _("Someone else was faster: these GPUs have just been taken."),
        _("Nothing was charged. Choose fewer GPUs, or another offer from the market."),
    ),
    "price_changed": Fault(
        _("The price changed while you were looking."),
        _("Nothing was charged. Check the new price below and confirm again if you agree."),
    ),
    "offer_closed": Fault(
        _("This offer is closed right now."),
        _("Its host is not taking new rents. Nothing was charged; choose another offer from the market."),
    ),
    "copy_damaged": Fault(
        _("The copy did not arrive as it was sent."), _("Nothing was charged, and the original is as it was. Try again.")
    ),
    "line_lost": Fault(
        _("The two hosts could not reach each other."),
        _("Nothing was charged, and the original is as it was. Try again, or choose another host."),
    ),
    "root_missing": Fault(
        _("What was installed is gone from its host."),
        _("Nothing was charged. Look at the instance's events, and write to the operator."),
    ),
    "disk_missing": Fault(
        _("The data disk is gone from its host."),
        _("Nothing was charged. Look at the instance's events, and write to the operator."),
    ),
    "bad_parcel": Fault(
        _("What the host sent is not this instance."),
        _("Nothing was charged, and the operator can see it. Choose another host."),
    ),
    "host_still_reports": Fault(
        _("This host is not dead."),
        _("Plan maintenance, or drain and retire it. If its agent can't be trusted, revoke its key."),
    ),
    "no_ports": Fault(
        _("This host has no free ports left."), _("Nothing was charged; choose another offer from the market.")
    ),
    "no_cpu_room": Fault(
        _("The host takes no more starts without a GPU right now."),
        _("Nothing was charged. Try again later, or start it with its GPUs."),
    ),
    "not_running": Fault(_("This instance is not running."), _("Start it first, then try again.")),
    "no_way_in": Fault(
        _("This market takes no hosts behind NAT."),
        _("Its operator has opened no ports for them. Enrol a machine that can be reached from outside."),
    ),
    "not_host_owner": Fault(_("Only host owners can do this."), _("Turn on “I offer GPUs on Berth” in your profile first.")),
    "insufficient_funds": Fault(
        _("Your wallet cannot pay for the first hour."),
        _("Nothing was charged. Add funds, choose fewer GPUs, or stop an instance that you do not need."),
    ),
    "debt_unpaid": Fault(
        _("There is an unpaid debt."),
        _("Your account, or one that shares your card or payout account, owes money. Top it up to order again."),
    ),
    "budget_exceeded": Fault(
        _("A budget does not allow it."),
        _("Nothing was charged. Whoever set the budget can raise or remove it in the cost centre, under Budgets."),
    ),
    "budget_exists": Fault(_("There is such a budget already."), _("Change its limit below instead.")),
    "not_transferable": Fault(
        _("This money cannot be passed on."), _("You can only transfer your own cash that isn't on hold.")
    ),
    "already_member": Fault(_("This person is in the team already."), ""),
    "invitation_expired": Fault(_("This invitation has expired."), _("Ask whoever invited you for a new one.")),
    "last_owner": Fault(
        _("The last owner cannot leave the team."),
        _("Make someone else an owner first, or delete the team when it is empty."),
    ),
    "coupon_unknown": Fault(
        _("There is no such coupon code."), _("Check it letter by letter; a 0 is easily taken for an O.")
    ),
    "coupon_withdrawn": Fault(_("This code has been withdrawn."), ""),
    "coupon_expired": Fault(_("This code has expired."), _("What you redeemed before is below and stays yours.")),
    "coupon_redeemed": Fault(
        _("You have redeemed this code already."), _("One person may not use it more often; what it gave is below.")
    ),
    "coupon_gone": Fault(_("This code has been redeemed as often as it was given out."), ""),
    "payments_off": Fault(
        _("This market takes no card payments."), _("Its operator has not connected Stripe. Nothing was charged.")
    ),
    "stripe_unreachable": Fault(
        _("Stripe does not answer right now."), _("Nothing was charged twice. Try again in a minute.")
    ),
    "stripe_refused": Fault(_("Stripe refused this."), _("Nothing was charged. If it stays so, tell the operator.")),
    "card_refused": Fault(_("The card was refused."), _("Nothing was charged. Try another card.")),
    "refund_refused": Fault(
        _("This cannot be sent back to the card."),
        _("Only unspent cash of this payment can be, within 14 days. Ask the operator for anything else."),
    ),
    "no_saved_card": Fault(_("No card is saved."), _("Save a card first; it is charged when the wallet runs low.")),
    "no_payout_account": Fault(
        _("Berth does not know yet where to send your money."), _("Say first where your earnings go to.")
    ),
    "payouts_frozen": Fault(
        _("The market's staff have stopped payouts of this account for now."), _("Your earnings are kept. Ask them why.")
    ),
    "payout_under_way": Fault(_("A payout is on its way already."), _("The next one can follow when it has arrived.")),
    "not_payable": Fault(
        _("Too little has matured to be paid out now."), _("The page shows what is held back, why, and until when.")
    ),
    "quote_expired": Fault(
        _("This price was good for ten minutes and has expired."),
        _("Nothing was charged. Check the fresh price below and confirm again."),
    ),
    "quote_used": Fault(
        _("This order has already been placed."),
        _("Look at your instances: it is there. Nothing was charged twice."),
    ),
    "quote_mismatch": Fault(
        _("The order is not what was quoted."),
        _("Nothing was charged. Check the price below and confirm again if you agree."),
    ),
    "search_name_taken": Fault(
        _("You already have a saved search with this name."), _("Choose another name, or delete the old search first.")
    ),
    "host_not_online": Fault(
        _("This host does not report right now."), _("Start its agent, wait until it is online, and ask again.")
    ),
    "log_unavailable": Fault(
        _("The log cannot be read right now."), _("Its host does not report. The log is there again when the host is.")
    ),
    "allow_list_not_kept": Fault(
        _("This host can't restrict SSH by address."), _("Nothing was changed. Rely on your keys, or use another host.")
    ),
    "web_links_off": Fault(_("This market opens no web pages of instances."), _("Use the direct link instead.")),
    "locked": Fault(_("It is locked."), _("Unlock it first: on its page, under “By itself”. Nothing was changed.")),
    "bid_barred": Fault(
        _("You can't bid on your own or your team's GPUs."), _("Rent by the hour, or bid on another offer.")
    ),
    "unlawful_action": Fault(
        _("That is not possible in the instance's present state."),
        _("It may have changed a moment ago. The page shows its state now."),
    ),
    "stale": Fault(
        _("Something changed at the same moment."),
        _("Nothing was done. Look at the present state and try again."),
    ),
    "busy": Fault(_("Too much is going on right now."), _("Nothing was done. Try again in a few seconds.")),
    "disk_too_large": Fault(_("The host's disk has no room for this."), _("Choose a smaller data disk, or another offer.")),
    "invalid_input": Fault(_("Something in the form is not right."), _("Check what you entered and try again.")),
    "search_syntax": Fault(_("The search line cannot be read."), _("Check it as the market's search box does.")),
    "invalid_ssh_key": Fault(
        _("This is not a usable SSH public key."),
        _("Copy the whole line of your .pub file; it begins with ssh-ed25519 or ssh-rsa."),
    ),
    "invalid_ssh_key.private_key": Fault(
        _("This is a private key: never give it to anyone."), _("Paste the content of the .pub file instead.")
    ),
    "invalid_ssh_key.too_weak": Fault(
        _("This key is too weak."), _("Make a new one with ssh-keygen -t ed25519 and paste its .pub file.")
    ),
    "invalid_ssh_key.many_lines": Fault(_("This is more than one line."), _("Paste one public key, on one line.")),
    "invalid_ssh_key.options": Fault(
        _("Options before the key are not allowed."), _("The line must begin with the key's kind, such as ssh-ed25519.")
    ),
    "invalid_ssh_key.certificate": Fault(
        _("This is a certificate, not a key."), _("Paste the content of the .pub file that was signed.")
    ),
    "ssh_key_exists": Fault(_("This SSH key is already in your account."), _("Use the one that you have.")),
    "image_missing": Fault(
        _("The registry has no such image."), _("Nothing was charged. Check its name and tag letter by letter.")
    ),
    "image_private": Fault(
        _("This image is private."), _("Nothing was charged. Save a login for its registry under My images, and try again.")
    ),
    "image_too_large": Fault(
        _("The image is too large."), _("Nothing was charged. Choose a host with more free disk, or a smaller image.")
    ),
    "image_wrong_architecture": Fault(
        _("The image is made for another kind of processor."),
        _("Nothing was charged. Choose one that is built for linux/amd64."),
    ),
    "image_needs_cuda": Fault(
        _("The image needs a newer CUDA than this host has."),
        _("Nothing was charged. Choose an offer with that CUDA or a newer one, or an older image."),
    ),
    "image_unreadable": Fault(
        _("What the registry sends is no image that can be run."), _("Nothing was charged. Build and push it anew.")
    ),
    "image_elsewhere": Fault(
        _("This image lies on another host."), _("Nothing was charged. Choose an offer of the host that it was saved on.")
    ),
    "image_not_ready": Fault(_("The image is not ready."), _("Wait until it is saved, and try again.")),
    "image_not_shareable": Fault(
        _("This image cannot be shared."), _("Others could not read it from its private registry.")
    ),
    "image_name_taken": Fault(
        _("Someone else's community image has this name."), _("Choose another name to share yours under.")
    ),
    "image_being_saved": Fault(_("An image of this instance is being saved already."), _("Wait until that one is ready.")),
    "registry_unreachable": Fault(
        _("The registry cannot be asked right now."), _("Nothing was charged. Check its name, or try again later.")
    ),
    "registry_busy": Fault(
        _("The registry has had too many questions."), _("Nothing was charged. Try again in some minutes.")
    ),
    "registry_login_refused": Fault(
        _("The registry does not take this login."), _("Check the user name, and the password or access token.")
    ),
    "volume_busy": Fault(
        _("The volume or disk is in use, or its host is at work on it."),
        _("Stop its instance and detach it, or wait until the work is done; then try again."),
    ),
    "volume_elsewhere": Fault(
        _("It lies on another host."),
        _("Rent or start with a volume, or move it there first; data sets stay on their host."),
    ),
    "volume_name_taken": Fault(_("You already have a volume with this name."), _("Choose another name.")),
    "snapshot_not_ready": Fault(_("The snapshot is not ready."), _("Wait until it is whole, and try again.")),
    "snapshot_in_use": Fault(
        _("The snapshot is in use."), _("It is published, or a disk is being made from it. Nothing was changed.")
    ),
    "too_many_volumes": Fault(_("There are as many as there may be."), _("Delete or detach one first.")),
    "no_storage": Fault(
        _("The host has no room for this at the moment."), _("Nothing was charged. Choose a smaller size or another host.")
    ),
    "storage_unreachable": Fault(_("The object storage cannot be asked."), _("Check its endpoint. Nothing was saved.")),
    "storage_login_refused": Fault(
        _("The object storage does not take this access key."), _("Check it, and that it may list this folder.")
    ),
    "bucket_missing": Fault(_("The object storage has no such bucket."), _("Make it there first, or check its name.")),
    "connection_read_only": Fault(_("The access key of this connection may not write."), _("Give it a key that may.")),
    "connection_in_use": Fault(
        _("Data is archived to this connection before its deletion."), _("Choose another place for that first.")
    ),
    "connection_name_taken": Fault(_("You already have a connection with this name."), _("Choose another name.")),
    "payout_account_waits": Fault(
        _("Your payout account is new."), _("Payouts to it start three days after you add it. Nothing was paid out.")
    ),
    "payout_account_unfinished": Fault(
        _("Your Stripe account isn't set up yet."), _("Finish it under Payouts, Payout account. Nothing was paid out.")
    ),
    "confirmation_needed": Fault(
        _("Confirm this with your password or second factor."), _("Do it in the console, where you are asked for it.")
    ),
    "too_many_codes": Fault(
        _("You have tried too many codes in a short time."),
        _("Nothing was redeemed. Wait an hour and check the code before you try again."),
    ),
    "too_many_invitations": Fault(
        _("You have sent too many invitations in a short time."),
        _("Nothing was sent. Wait an hour, or share a link that you already have."),
    ),
    "invited_lately": Fault(
        _("You invited this address a moment ago."),
        _("The mail is on its way and its link stays valid. You can invite this address again in 15 minutes."),
    ),
    "too_often": Fault(
        _("Too many attempts in a short time."), _("Nothing was changed. Wait a few minutes, then try again.")
    ),
    "too_many": Fault(_("The limit of your account is reached."), _("Remove something that you no longer use.")),
    "not_found": Fault(_("There is nothing here."), _("It is gone, or it belongs to someone else.")),
    "forbidden": Fault(_("This is not for you."), _("Sign in with an account that may do this.")),
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
            return with_wait(toast(request, words, status=exception.status), exception)
        if isinstance(exception, NotFound):
            return render(request, "404.html", {"fault": words}, status=404)
        if request.method == "POST":
            messages.error(request, f"{words.title} {words.advice}")
            return HttpResponseRedirect(_came_from(request), status=303)
        return with_wait(render(request, "fault.html", {"fault": words}, status=exception.status), exception)


def toast(request: HttpRequest, words: Fault, *, status: int) -> HttpResponse:
    """Answer a request for a part of a page: the page stays, and a toast shows the error."""
    response = render(request, "components/fault_toast.html", {"fault": words}, status=status)
    response["HX-Retarget"], response["HX-Reswap"] = "#toasts", "beforeend"
    return response


def _came_from(request: HttpRequest) -> str:
    """Return the page that held the form, if it is one of ours."""
    parts = page_named(request, "Referer")
    return parts.path if parts.netloc == request.get_host() and parts.path != request.path else "/instances"
