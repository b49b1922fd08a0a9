import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.codec import decode, encode
from fleetui.domain.finding import Evidence
from fleetui.domain.text import SafeText, sanitise


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("plain text", "plain text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]52;c;QUFBQQ==\x07b", "ab"),
        ("a\x1b]0;title\x1b\\b", "ab"),
        ("cut \x1b]52;c;QUFB", "cut "),
        ("c1 \x9b31mred", "c1 red"),
        ("tab\tand\nline\r", "tab and line "),
        ("bidi \u202egnp.exe\u202c", "bidi gnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("[/] [@click=app.quit]x[/]", "[/] [@click=app.quit]x[/]"),
        (b"bad \xff\xfe utf-8", "bad \ufffd\ufffd utf-8"),
        ("Å kept, 日本 kept", "Å kept, 日本 kept"),
    ],
)
def test_known_bad_text(raw: str | bytes, safe: str) -> None:
    assert sanitise(raw) == safe


hostile = st.text(
    st.one_of(st.characters(), st.sampled_from("\x1b\x9b\x9d\x07\\[]0;m\u202e\u200b\x00"))
)


@given(st.one_of(hostile, st.binary()), st.integers(1, 300))
def test_nothing_that_acts_on_a_terminal_gets_through(raw: str | bytes, limit: int) -> None:
    text = sanitise(raw, limit)
    assert isinstance(text, SafeText)
    assert len(text) <= limit
    assert not any(unicodedata.category(character)[0] == "C" for character in text)
    assert sanitise(text, limit) == text


@given(hostile)
def test_what_is_stored_comes_back_safe_and_equal(raw: str) -> None:
    evidence = Evidence(source="/tmp/x.log", text=sanitise(raw), line=1)
    again = decode(encode(evidence), Evidence)
    assert again == evidence
    assert isinstance(again.text, SafeText)


def test_text_tampered_with_in_a_store_is_made_safe_again() -> None:
    evidence = decode(b'{"source":"vast","text":"a\\u001b[2Jb"}', Evidence)
    assert evidence.text == "ab"
