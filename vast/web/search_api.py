"""Views of searches, open to everyone."""

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from vast.search.gpu_names import vast_names
from vast.search.offers import find_offers, read_search
from vast.web.base import VastView, body_of, success


class BundlesView(VastView):
    """Search offers: the conditions are the body."""

    permission_classes = (AllowAny,)

    def post(self, request: Request) -> Response:
        return success(offers=find_offers(read_search(body_of(request))))


class AsksSearchView(VastView):
    """Search offers: the conditions are `q` in the body."""

    permission_classes = (AllowAny,)

    def put(self, request: Request) -> Response:
        return success(offers=find_offers(read_search(body_of(request).get("q") or {})))


class GpuNamesView(VastView):
    """Names of GPU models; every start of the CLI may read them."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        return Response({"gpu_names": vast_names()})
