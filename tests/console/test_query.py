import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.finding import Severity
from fleetui.domain.query import FIELDS, TEXT_FIELDS, Query, QueryError, parse_query
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise

NOW = 10_000.0
ROW = FleetRow(
    instance_id=20110148,
    label=sanitise("Prover test-7"),
    gpu=sanitise("RTX 4090"),
    num_gpus=2,
    stage=Stage.WARMUP,
    stage_since=NOW - 900,
    proofs_per_hour=5.5,
    min_rate=8.0,
    cost_per_hour=0.42,
    newest_byte_at=NOW - 400,
    finding_category="gpu_oom",
    finding_severity=Severity.CRITICAL,
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("prover", True),
        ("PROVER 4090", True),
        ("prover 3090", False),
        ("stage=warmup gpu~4090 rate<min age>5m", True),
        ("!label~test", False),
        ("label!~test", False),
        ("label!~other", True),
        ('label~"prover test"', True),
        ('"prover test-7"', True),
        ("age>7m", False),
        ("age>=400s", True),
        ("log>5m", True),
        ("log>7m", False),
        ("in>age", True),
        ("log<in", True),
        ("in<1h", True),
        ("cost<=0.42 cost>$0.41", True),
        ("gpus=2", True),
        ("util<50", False),
        ("util=?", True),
        ("!util=?", False),
        ("finding=gpu_oom severity=critical", True),
        ("id~0148", True),
        ("$/h<1", True),
        ("rate~5", True),
    ],
)
def test_terms(text: str, holds: bool) -> None:
    assert parse_query(text).matches(ROW, NOW) is holds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sage=warmup", "did you mean stage"),
        ("rate<fast", "number"),
        ("label>3", "text"),
        ("stage=", "needs a value"),
    ],
)
def test_a_wrong_filter_says_what_would_do(text: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        parse_query(text)


@given(st.text(max_size=80))
def test_any_text_parses_or_says_why(text: str) -> None:
    try:
        query = parse_query(text)
    except QueryError as error:
        reason = str(error)
    else:
        reason = ""
        assert query.matches(ROW, NOW) in (True, False)
    assert reason == "" or len(reason) > 8


NUMBERS = [name for name in FIELDS if name not in TEXT_FIELDS]


@given(
    st.sampled_from(NUMBERS),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.integers(0, 10_000).map(str),
)
def test_negation_is_the_complement(name: str, operator: str, value: str) -> None:
    plain = parse_query(f"{name}{operator}{value}")
    turned = parse_query(f"!{name}{operator}{value}")
    assert plain.matches(ROW, NOW) is not turned.matches(ROW, NOW)


@given(st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=4), max_size=4))
def test_terms_are_a_conjunction_in_any_order(words: list[str]) -> None:
    whole = parse_query(" ".join(words)).matches(ROW, NOW)
    assert whole is all(parse_query(word).matches(ROW, NOW) for word in words)
    assert whole is parse_query(" ".join(reversed(words))).matches(ROW, NOW)
    assert Query().matches(ROW, NOW)
