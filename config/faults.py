"""Errors in plain words for pages: what happened and what to do, in the reader's language."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from django import template
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from common.errors import DomainError, NotFound
from config.policy import PROGRAM_PREFIXES

register = template.Library()

Words = str | Promise


@dataclass(frozen=True)
class Fault:
    """What a person reads instead of a code."""

    title: Words
    advice: Words


# By the error's stable code, then by an instance's failure code.
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
    "no_ports": Fault(
        _("This host has no free ports left."), _("Nothing was charged; choose another offer from the market.")
    ),
    "not_host_owner": Fault(_("Only host owners can do this."), _("Turn on “I offer GPUs on Berth” in your profile first.")),
    "insufficient_funds": Fault(
        _("Your wallet cannot pay for the first hour."),
        _("Nothing was charged. Add funds, choose fewer GPUs, or stop an instance that you do not need."),
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
    "mode_not_rentable": Fault(
        _("This can be compared but not ordered yet."),
        _("Nothing was charged. So far only hourly rents with an included disk can be ordered."),
    ),
    "search_name_taken": Fault(
        _("You already have a saved search with this name."), _("Choose another name, or delete the old search first.")
    ),
    "host_not_online": Fault(
        _("This host does not report right now."), _("Start its agent, wait until it is online, and ask again.")
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
    "disk_too_large": Fault(
        _("The data disk is too large for this host or this version of Berth."),
        _("Choose a smaller data disk."),
    ),
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
    "too_many": Fault(_("The limit of your account is reached."), _("Remove something that you no longer use.")),
    "not_found": Fault(_("There is nothing here."), _("It is gone, or it belongs to someone else.")),
    "forbidden": Fault(_("This is not for you."), _("Sign in with an account that may do this.")),
}
FAILURES: dict[str, Fault] = {
    "image_missing": Fault(_("The image could not be found."), _("Choose another image, or tell the operator.")),
    "image_pull_timeout": Fault(
        _("Loading the image took too long."), _("The host's network is slow. Release this instance and rent elsewhere.")
    ),
    "create_failed": Fault(_("The host could not make the container."), _("Release this instance and rent elsewhere.")),
    "start_failed": Fault(_("The host could not start the container."), _("Try to start it again, or rent elsewhere.")),
    "gpu_not_visible": Fault(
        _("A GPU that you rented was not visible inside."), _("Release this instance and rent elsewhere.")
    ),
    "ssh_silent": Fault(_("SSH did not answer inside the instance."), _("Try to start it again, or rent elsewhere.")),
    "gpu_conflict": Fault(
        _("One of the GPUs was in use by something else."), _("Release this instance and rent elsewhere.")
    ),
    "disk_full": Fault(_("The host's disk is full."), _("Release this instance and rent elsewhere.")),
    "exited": Fault(_("The container ended by itself."), _("Its main process stopped. You can start it again.")),
    "out_of_memory": Fault(
        _("It needed more memory than it had and was ended."), _("Start it again with smaller batches, or rent more GPUs.")
    ),
    "removed": Fault(_("The container was removed on its host."), _("Start it again, or rent elsewhere.")),
    "host_restarted": Fault(_("The host was restarted while it ran."), _("You can start it again.")),
}
UNKNOWN_FAILURE = Fault(_("It failed."), _("Look at what happened below; if it stays so, tell the operator."))


def fault_of(error: DomainError) -> Fault:
    """The words for an error: those of its first wrong field before those of its code."""
    detailed = f"{error.code}.{error.errors[0].code}" if error.errors else error.code
    known = FAULTS.get(detailed) or FAULTS.get(error.code)
    return known or Fault(title=error.detail, advice="")


@register.filter
def fault(error: DomainError) -> Fault:
    return fault_of(error)


@register.filter
def failure_words(code: str) -> Fault:
    """Why an instance failed, in words."""
    return FAILURES.get(code, UNKNOWN_FAILURE)


class FaultPages:
    """Middleware that turns an error of a page's service into words: a page, a toast, or a message after a redirect."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, DomainError) or request.path_info.startswith(PROGRAM_PREFIXES):
            return None
        words = fault_of(exception)
        if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
            response = render(request, "components/fault_toast.html", {"fault": words}, status=exception.status)
            response["HX-Retarget"], response["HX-Reswap"] = "#toasts", "beforeend"
            return response
        if isinstance(exception, NotFound):
            return render(request, "404.html", {"fault": words}, status=404)
        if request.method == "POST":
            messages.error(request, f"{words.title} {words.advice}")
            return HttpResponseRedirect(_came_from(request), status=303)
        return render(request, "fault.html", {"fault": words}, status=exception.status)


def _came_from(request: HttpRequest) -> str:
    """The page that held the form, if it is ours."""
    parts = urlsplit(request.headers.get("Referer", ""))
    return parts.path if parts.netloc == request.get_host() and parts.path != request.path else "/instances"
