"""Public download of the agent's release and install script.

No login is needed: whoever installs the agent checks digests and a signature.
"""

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe

from common.agent_release import INSTALL_SCRIPT, release_path
from common.errors import NotFound
from common.http.problems import problem_response


@require_safe
def install_script(request: HttpRequest) -> HttpResponse:
    return HttpResponse(
        INSTALL_SCRIPT.read_bytes(), content_type="text/x-shellscript", headers={"Cache-Control": "no-cache"}
    )


@require_safe
def release_file(request: HttpRequest, name: str) -> HttpResponseBase:
    path = release_path(name)
    if path is None:
        return problem_response(NotFound("This market serves no such file of the agent."))
    return FileResponse(path.open("rb"), content_type="application/octet-stream", headers={"Cache-Control": "no-cache"})
