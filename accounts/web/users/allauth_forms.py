"""Forms of allauth that the site extends: sign-up, new address, new password."""

from typing import Any

from allauth.account.forms import AddEmailForm as PlainAddEmailForm
from allauth.account.forms import ChangePasswordForm as PlainChangePasswordForm
from allauth.account.forms import SignupForm as PlainSignupForm
from django import forms
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.event_log.services import record_event
from accounts.models import User
from accounts.selectors import id_of_address
from accounts.tokens.services import revoke_all_tokens
from common.db.transactions import use_case
from common.email_addresses import validate_email_address


class AddEmailForm(PlainAddEmailForm):  # type: ignore[misc]  # allauth has no type information
    """Form of a new address, validated only by the market's own rule."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].validators = [validate_email_address]


class SignupForm(PlainSignupForm):  # type: ignore[misc]  # allauth has no type information
    """Sign-up form.

    An address with an account costs the same work as a new one, so that response times do not reveal it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].validators = [validate_email_address]

    def try_save(self, request: HttpRequest) -> tuple[User | None, HttpResponse | None]:
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])  # costs as much time as a new account's password
            with use_case():
                record_event(user_id=id_of_address(self.cleaned_data["email"]), kind="signup.again")
        saved: tuple[User | None, HttpResponse | None] = super().try_save(request)
        return saved


class ChangePasswordForm(PlainChangePasswordForm):  # type: ignore[misc]  # allauth has no type information
    """Form of a new password.

    Other sessions end in any case; revoking tokens is optional, since it would break the owner's programs.
    """

    revoke_tokens = forms.BooleanField(
        label=_("Revoke my API tokens too"),
        required=False,
        initial=True,
        help_text=_("Clear this only if you're sure that no one else knows your password."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields(["oldpassword", "password1", "password2", "revoke_tokens"])

    def save(self) -> None:
        if self.cleaned_data["revoke_tokens"]:
            revoke_all_tokens(user=self.user)
        super().save()
