"""Page of one statement line: what its amount follows from, in words and numbers."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.web.decorators import SignedInRequest, login_required_page
from instances.statement_lines.selectors import explain_with_reports


@require_safe
@login_required_page
def statement_line(request: SignedInRequest, line_id: str) -> HttpResponse:
    found = explain_with_reports(owner_id=request.user.pk, line_id=line_id)
    return render(request, "proof/line.html", {"found": found, "line": found.line, "use": found.line.use})
