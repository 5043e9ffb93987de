"""Where Stripe delivers its messages: outside the API, signed instead of signed in."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from billing.payments.stripe_events import Refused, receive_event


@csrf_exempt
@require_POST
def stripe_webhook(request: HttpRequest) -> JsonResponse:
    """200 as soon as the message is kept; 400 for what is not Stripe's, is too old or cannot be read."""
    try:
        is_new = receive_event(body=request.body, signature=request.headers.get("Stripe-Signature", ""))
    except Refused as refusal:
        return JsonResponse({"error": refusal.reason}, status=400)
    return JsonResponse({"received": True, "new": is_new})
