"""Views of the account: user, SSH keys, variables, statement."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import ANY_SCOPE, CONNECT
from accounts.web.permissions import current_user, holds_scope, require_scope
from vast.account import keys, people, statement
from vast.variables import variables
from vast.web.base import VastView, body_of, success


class UserView(VastView):
    """The user who asks."""

    scopes: ClassVar = {"GET": ANY_SCOPE}

    def get(self, request: Request) -> Response:
        return Response(people.user_row(current_user(request), money=holds_scope(request, "billing:read")))


class KeysView(VastView):
    """SSH keys of the account; a key opens every instance that takes all of them."""

    scopes: ClassVar = {"GET": "keys:read", "POST": "keys:write"}

    def get(self, request: Request) -> Response:
        return Response(keys.key_rows(current_user(request)))

    def post(self, request: Request) -> Response:
        require_scope(request, CONNECT)
        return success(key=keys.add_key(user=current_user(request), text=body_of(request).get("ssh_key")))


class KeyView(VastView):
    """One SSH key of the account."""

    scopes: ClassVar = {"PUT": "keys:write", "DELETE": "keys:write"}

    def put(self, request: Request, number: int) -> Response:
        require_scope(request, CONNECT)
        text = body_of(request).get("ssh_key")
        return success(key=keys.replace_key(user=current_user(request), number=number, text=text))

    def delete(self, request: Request, number: int) -> Response:
        keys.remove_key(user=current_user(request), number=number)
        return success()


class InstanceKeysView(VastView):
    """Let a key into an instance."""

    scopes: ClassVar = {"POST": "keys:write"}

    def post(self, request: Request, number: int) -> Response:
        require_scope(request, CONNECT)
        keys.attach_key(user=current_user(request), number=number, text=body_of(request).get("ssh_key"))
        return success(msg="SSH key added to instance.")


class InstanceKeyView(VastView):
    """Keep a key out of an instance."""

    scopes: ClassVar = {"DELETE": "instances:write"}

    def delete(self, request: Request, number: int, key: str) -> Response:
        require_scope(request, CONNECT)
        keys.detach_key(user=current_user(request), number=number, named=key)
        return success(msg="SSH key removed from instance.")


class VariablesView(VastView):
    """Variables that new instances get."""

    scopes: ClassVar = {
        "GET": "instances:read",
        "POST": "instances:write",
        "PUT": "instances:write",
        "DELETE": "instances:write",
    }

    def get(self, request: Request) -> Response:
        return success(secrets=variables.shown_variables(current_user(request)))

    def post(self, request: Request) -> Response:
        require_scope(request, CONNECT)  # they change what programs of later instances do
        body = body_of(request)
        variables.add_variable(user=current_user(request), name=body.get("key"), value=body.get("value"))
        return success(msg="Environment variable created.")

    def put(self, request: Request) -> Response:
        require_scope(request, CONNECT)
        body = body_of(request)
        variables.change_variable(user=current_user(request), name=body.get("key"), value=body.get("value"))
        return success(msg="Environment variable updated.")

    def delete(self, request: Request) -> Response:
        variables.delete_variable(user=current_user(request), name=body_of(request).get("key"))
        return success(msg="Environment variable deleted.")


class InvoicesView(VastView):
    """Charges and payments, as older clients read them."""

    scopes: ClassVar = {"GET": "billing:read"}

    def get(self, request: Request) -> Response:
        return success(**statement.invoices(current_user(request), request.query_params))


class ChargesView(VastView):
    """A page of charges."""

    scopes: ClassVar = {"GET": "billing:read"}

    def get(self, request: Request) -> Response:
        return success(**statement.charge_page(current_user(request), request.query_params))


class InvoicePageView(VastView):
    """A page of payments and credits."""

    scopes: ClassVar = {"GET": "billing:read"}

    def get(self, request: Request) -> Response:
        return success(**statement.invoice_page(current_user(request), request.query_params))
