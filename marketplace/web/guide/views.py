"""Public pages of the guide, the GPU ranking and the advisor."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render as render_page
from django.urls import reverse

from common.http.htmx import render
from marketplace.web.guide.context import advisor_context, guide_context, topic_context


def guide(request: HttpRequest) -> HttpResponse:
    return render_page(request, "guide/index.html", guide_context())


def guide_topic(request: HttpRequest, topic: str) -> HttpResponse:
    context = topic_context(topic, request.GET)
    return render(request, page="guide/topic.html", part="guide/_topic.html", context=context)


def advisor(request: HttpRequest) -> HttpResponse:
    context = advisor_context(request.GET)
    response = render(request, page="guide/advisor.html", part="guide/_advisor.html", context=context)
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        response["HX-Push-Url"] = f"{reverse('advisor')}?{context['query']}"
    return response
