"""Console page with the files of an instance."""

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from accounts.web.decorators import SignedInRequest, signed_in
from common.http.htmx import render
from common.ids import parse_public_id
from instances.web.access.file_context import files_context


@require_GET
@signed_in
def files(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the file page.

    Its script talks to the instance through the relay; the part only says whether the instance runs.
    """
    context = files_context(request.user, parse_public_id("inst", instance_id))
    return render(request, page="instances/files.html", part="instances/_files_state.html", context=context)
