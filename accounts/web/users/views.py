"""Settings pages: profile, SSH keys, API tokens."""

from allauth.account.utils import has_verified_email
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.selectors import all_ssh_keys_of, tokens_of
from accounts.ssh_keys.services import add_ssh_key, remove_ssh_key
from accounts.tokens.services import issue_token, revoke_token
from accounts.users.profile import edit_profile
from accounts.web.decorators import SignedInRequest, login_required_page
from accounts.web.users.forms import SCOPE_LABELS, ProfileForm, SshKeyForm, TokenForm
from common.errors import DomainError
from common.ids import parse_public_id


@login_required_page
def profile(request: SignedInRequest) -> HttpResponse:
    user = request.user
    initial = {"display_name": user.display_name, "is_host_owner": user.is_host_owner}
    form = ProfileForm(request.POST or None, initial=initial)
    if form.is_valid():
        edit_profile(user_id=user.pk, **form.cleaned_data)
        messages.success(request, _("Profile saved"))
        return redirect("profile")
    context = {"form": form, "verified": has_verified_email(user, user.email)}
    return render(request, "accounts/profile.html", context)


@login_required_page
def ssh_keys(request: SignedInRequest) -> HttpResponse:
    form, fault = SshKeyForm(request.POST or None), None
    if form.is_valid():
        try:
            key = add_ssh_key(user=request.user, **form.cleaned_data)
            messages.success(request, _("SSH key “%(name)s” added") % {"name": key.name})
            return redirect("ssh_keys")
        except DomainError as error:
            fault = error
    context = {"keys": all_ssh_keys_of(request.user), "form": form, "refused": fault}
    return render(request, "accounts/ssh_keys.html", context, status=fault.status if fault else 200)


@require_POST
@login_required_page
def ssh_key_remove(request: SignedInRequest, key_id: str) -> HttpResponse:
    remove_ssh_key(user=request.user, key_id=parse_public_id("key", key_id))
    messages.success(request, _("SSH key removed"))
    return redirect("ssh_keys")


@login_required_page
def tokens(request: SignedInRequest) -> HttpResponse:
    """Show the tokens; a POST creates one, whose text is only in that response."""
    form, secret = TokenForm(request.POST or None), ""
    if form.is_valid():
        _token, secret = issue_token(user=request.user, **form.cleaned_data)
        form = TokenForm()
    context = {"tokens": tokens_of(request.user), "form": form, "secret": secret, "words": SCOPE_LABELS}
    return render(request, "accounts/tokens.html", context)


@require_POST
@login_required_page
def token_revoke(request: SignedInRequest, token_id: str) -> HttpResponse:
    revoke_token(user=request.user, token_id=parse_public_id("tok", token_id))
    messages.success(request, _("Token revoked. Programs using it no longer have access."))
    return redirect("tokens")
