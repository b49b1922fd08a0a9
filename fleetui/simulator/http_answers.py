"""Answers of the pretend API in the shapes of the real one (facts: vast_api.md 1.4, 6.1)."""

import json
from typing import Any

from aiohttp import web

HTML = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
NOT_FOUND = "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"
LOGIN = {"success": False, "error": "auth_error", "msg": "This action requires login."}
BAD_KEY = {"success": False, "error": "auth_error", "msg": "Invalid user key"}
NO_INSTANCE = {"success": False, "error": "no_such_instance", "msg": "No such instance"}
REFUSED = {"success": False, "msg": "The machine does not take this now."}
QUEUED = {
    "success": False,
    "msg": "Required resources are currently unavailable, state change queued.",
}
DEPRECATED = {
    "success": False,
    "error": "deprecated_endpoint",
    "msg": "/api/v0/instances/ is deprecated. Use /api/v1/instances/ instead.",
}
NOT_PERMITTED = {
    "success": False,
    "error": "not_authorized",
    "msg": "Your API key does not permit this action.",
}


async def body(request: web.Request) -> dict[str, Any]:
    """Read a request's JSON object.

    Raises:
        web.HTTPBadRequest: it is none.
    """
    try:
        found = await request.json()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise bad_request("no JSON object")
    return found


def answer(data: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Answer JSON; the official client wants the bare content type, without a charset."""
    return web.Response(
        status=status,
        body=json.dumps(data).encode(),
        content_type="application/json",
        headers=headers,
    )


def refusal(status: int, error: str, message: str) -> web.Response:
    """Refuse in the most common shape."""
    return answer({"success": False, "error": error, "msg": message}, status=status)


def too_many(endpoint: str, threshold: float, retry_after: float | None) -> web.Response:
    """Refuse a call that came too soon."""
    text = f"API requests too frequent endpoint threshold={threshold}"
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:.3f}"}
    return answer({"detail": text, "endpoint": endpoint}, status=429, headers=headers)


def cut(request: web.Request) -> web.Response:
    """Close the connection under the answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)


def ids(order: dict[str, Any], name: str) -> list[int]:
    """Return a list of ids.

    Raises:
        web.HTTPBadRequest: it is none.
    """
    found = order.get(name)
    if not isinstance(found, list) or not all(type(item) is int for item in found):
        raise bad_request(f"{name} must be a list of ids")
    return found


def bad_request(message: str) -> web.HTTPBadRequest:
    """Return what ends a request whose arguments are wrong."""
    text = json.dumps({"success": False, "error": "invalid_args", "msg": message})
    return web.HTTPBadRequest(text=text, content_type="application/json")


def unusable(kind: int) -> web.Response:
    """Answer a single look so that nothing can be told from it."""
    answers = (
        lambda: refusal(500, "server_error", "Internal error"),
        lambda: answer(BAD_KEY, status=404),
        lambda: web.Response(status=404, text=NOT_FOUND, content_type="text/html"),
        lambda: refusal(404, "session_expired", "Session expired. Please log in again."),
        lambda: answer({"success": True}),
        lambda: refusal(401, "auth_error", "Invalid user key"),
    )
    return answers[kind % len(answers)]()
