"""Webhook endpoint for Stripe's events: outside the API, authenticated by signature."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from billing.payments.stripe_events import Refused, receive_event


@csrf_exempt
@require_POST
def stripe_webhook(request: HttpRequest) -> JsonResponse:
    """Store an event: 200 once it is stored, 400 if it is forged, too old or unreadable."""
    try:
        is_new = receive_event(body=request.body, signature=request.headers.get("Stripe-Signature", ""))
    except Refused as refusal:
        return JsonResponse({"error": refusal.reason}, status=400)
    return JsonResponse({"received": True, "new": is_new})
