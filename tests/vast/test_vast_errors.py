import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.vast.errors import Problem, Trouble, classify, retry_after


def judge(status: int, body: object, **headers: str) -> Problem | None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        data = json.loads(raw)
    except ValueError:
        data = None
    return classify(status, {name.replace("_", "-"): value for name, value in headers.items()},
                    data, raw)  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        (403, {"success": False, "error": "auth_error", "msg": "x"}, Trouble.AUTH),
        (404, {"success": False, "error": "auth_error", "msg": "Invalid user key"}, Trouble.AUTH),
        (404, {"msg": "Session expired. Please log in again."}, Trouble.AUTH),
        (401, b"", Trouble.AUTH),
        (404, {"error": "no_such_instance"}, Trouble.NO_SUCH_INSTANCE),
        (404, {"error": "not_found"}, Trouble.NO_SUCH_INSTANCE),
        (404, b"<html>", Trouble.REFUSED),
        (404, {"message": "unknown route"}, Trouble.REFUSED),
        (410, {"success": False, "error": "deprecated_endpoint"}, Trouble.REFUSED),
        (200, {"success": False, "msg": "queued"}, Trouble.REFUSED),
        (200, b"", Trouble.UNREADABLE),
        (200, b"<html></html>", Trouble.UNREADABLE),
        (200, [1], Trouble.UNREADABLE),
        (302, b"", Trouble.REDIRECTED),
        (429, b"slow down", Trouble.RATE_LIMITED),
        (500, b"", Trouble.SERVER),
        (502, b"<html>", Trouble.SERVER),
        (483, {"error": "bad json"}, Trouble.REFUSED),
    ],
)
def test_classification(status: int, body: object, trouble: Trouble) -> None:
    problem = judge(status, body)
    assert problem is not None
    assert problem.trouble is trouble
    assert problem.status == status
    assert problem.text


def test_good_answers_are_good() -> None:
    assert judge(200, {"instances": None}) is None
    assert judge(201, {"success": True}) is None


def test_only_what_may_pass_is_transient() -> None:
    transient = {status for status in range(400, 600) if (judge(status, {}) or None) is not None
                 and getattr(judge(status, {}), "transient", False)}  # fmt: skip
    assert transient == {429, 502, 503, 504}


def test_spacing_is_read_from_both_spellings() -> None:
    for text in ("API requests too frequent endpoint threshold=2.5", "... threshold: 2.5"):
        problem = judge(429, {"detail": text})
        assert problem is not None
        assert problem.spacing == 2.5


def test_a_daily_quota_is_not_waited_for() -> None:
    problem = judge(429, {"error": "search_quota_exceeded", "msg": "x"})
    assert problem is not None
    assert not problem.transient


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", (0.0, False)), ("1.5", (1.5, False)), ("60", (60.0, False)), ("61", (61.0, True)),
        ("9999", (600.0, True)),
        ("nan", (None, False)), ("inf", (None, False)), ("-1", (None, False)),
        ("Wed, 21 Oct 2026 07:28:00 GMT", (None, False)), ("", (None, False)),
    ],
)  # fmt: skip
def test_retry_after(value: str, expected: tuple[float | None, bool]) -> None:
    assert retry_after({"retry-after": value}) == expected


def test_a_date_to_come_back_at_counts_from_the_answers_own() -> None:
    headers = {"date": "Wed, 21 Oct 2026 07:28:00 GMT"}
    assert retry_after(headers | {"retry-after": "Wed, 21 Oct 2026 07:28:20 GMT"}) == (20.0, False)
    assert retry_after(headers | {"retry-after": "Wed, 21 Oct 2026 07:20:00 GMT"}) == (None, False)
    assert retry_after(headers | {"retry-after": "soon"}) == (None, False)
    problem = classify(503, {"retry-after": "7"}, None, b"")
    assert problem is not None
    assert problem.retry_after == 7.0


@given(st.integers(100, 599), st.binary(max_size=200), st.text(max_size=20))
def test_any_answer_is_judged(status: int, raw: bytes, wait: str) -> None:
    problem = classify(status, {"retry-after": wait}, None, raw)
    assert problem is not None
    assert problem.retry_after is None or 0 <= problem.retry_after <= 60
