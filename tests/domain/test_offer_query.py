"""The offers' query language beside the official client's own parser."""

import contextlib
import io
import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from vastai.api.query import offers_alias, offers_fields, offers_mult, parse_query

from fleetui.domain.offer_query import (
    ALIASES,
    DEFAULT_QUERY,
    FACTORS,
    FIELDS,
    OfferQueryError,
    parse_offer_query,
)


def official(text: str) -> dict[str, Any] | None:
    """Return what the official client asks the API for; `None` when it fails.

    For some wrong queries it breaks instead of refusing. What JSON cannot carry is no query.
    """
    defaults = {"verified": {"eq": True}, "external": {"eq": False}, "rentable": {"eq": True}}
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            found = parse_query(text, defaults, offers_fields, offers_alias, offers_mult)
        except (ValueError, TypeError, AttributeError):
            return None
    numbers = [v for item in found.values() for v in item.values() if isinstance(v, float)]
    if not all(math.isfinite(number) for number in numbers):
        return None
    return dict(found)


def ours(text: str) -> dict[str, Any] | None:
    try:
        return dict(parse_offer_query(text).conditions)
    except OfferQueryError:
        return None


def same(text: str) -> None:
    theirs = official(text)
    assert json.dumps(ours(text), sort_keys=True) == json.dumps(theirs, sort_keys=True), text


def test_the_language_knows_the_same_words() -> None:
    assert offers_fields == FIELDS
    assert offers_alias == ALIASES
    assert offers_mult == FACTORS


@pytest.mark.parametrize(
    "query",
    [
        "",
        DEFAULT_QUERY,
        "reliability > 0.98 num_gpus=1 gpu_name=RTX_3090",
        "compute_cap > 610 total_flops > 5 datacenter=True",
        "reliability>0.99 num_gpus=4 geolocation in [TW,SE]",
        'gpu_name in ["RTX 4090", "RTX 3090"] geolocation notin [CN,VN]',
        "disk_space>146 duration>24 cuda_vers>=12.1 driver_version >= 535.86.05",
        "verified=any rentable = * external != true",
        "gpu_name not in [A,B] host_id nin [1] num_gpus gte 2 dph lt 1",
        "gpu_ram>=12.5 gpu_ram<=25 gpu_total_ram=48",
        "cpu_arch=arm64 mobo_name=null static_ip==true",
        "dph<=0.9 dph_total>=0.1",
    ],
)
def test_it_gives_what_the_official_client_sends(query: str) -> None:
    assert official(query) is not None
    same(query)


_FIELDS = st.sampled_from(sorted({*FIELDS, *ALIASES, "gpu_rma"}))
_SIGNS = st.sampled_from(
    ["=", "==", "!=", "<", "<=", ">", ">=", " in ", " notin ", " not in ", " nin ", " eq ", " neq ",
     " lt ", " gte ", " >= ", "=>", " not eq ", " noteq ", " is ", ""]
)  # fmt: skip
_VALUES = st.sampled_from(
    ["1", "0.9", "-3", "240", "true", "False", "null", "any", "*", "?", "RTX_4090", '"RTX 4090"',
     "[US,CA]", '["A B", C_D]', "[ , ]", "[]", "535.86.05", "535.86", "1.2.x", "0.0.0", "nan",
     "1e999", "1,2", ",", '"', "", "[a", "a]", "_", "1_0", "<5"]
)  # fmt: skip
_TERMS = st.tuples(_FIELDS, _SIGNS, st.sampled_from(["", " "]), _VALUES).map("".join)


@settings(max_examples=500)
@given(st.lists(_TERMS, max_size=6).map(" ".join))
@example("driver_version in [535.86.05]")
@example("cpu_ram in [240]")
@example("gpu_name in any")
@example("verified=true verified=any")
def test_made_queries_give_the_same(query: str) -> None:
    same(query)


@settings(max_examples=300)
@given(st.text(alphabet='ab_ 01.,=<>!"[]*?inoteq', max_size=40))
def test_any_text_gives_the_same(text: str) -> None:
    same(text)


@given(st.text(max_size=60))
def test_nothing_breaks_it(text: str) -> None:
    ours(text)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("dph<=0.9 @@ x", "'@@ x'"),
        ("dph<=0.9 cheap", "'cheap' has no operator"),
        ("dph=<0.9", "no such operator: '=<'"),
        ("dph<=", "'dph<=': the value is missing"),
        ("dph<any", "only after '='"),
        ("cpu_ram>=lots", "'cpu_ram>=lots': needs one number"),
        ("driver_version>=535.86", "three numbers"),
    ],
)
def test_it_shows_what_was_not_understood(query: str, said: str) -> None:
    with pytest.raises(OfferQueryError) as caught:
        parse_offer_query(query)
    assert said in str(caught.value)


def test_a_field_that_it_does_not_know_is_sent_and_doubted() -> None:
    query = parse_offer_query("gpu_rma>12 gpu_rma<20 dph<1", defaults=False)
    assert query.conditions == {"gpu_rma": {"gt": "12", "lt": "20"}, "dph_total": {"lt": "1"}}
    assert query.doubts == ("no such field: 'gpu_rma'; did you mean 'gpu_ram'?",)
