"""Templates: what they allow, how they are told apart, and that no secret stands in them."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui import config
from fleetui.domain.policy import Policy
from fleetui.domain.rental import Rental, Template, marked_label, plain_label
from fleetui.domain.secret import Secret
from fleetui.domain.text import sanitise
from fleetui.vast.offers import RentalOrder
from fleetui.vast.ordering import SecretMissingError, bound_to, find_secrets, order_of


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"image": " "}, "image must not be empty"),
        ({"disk_gb": 0}, "disk_gb"),
        ({"onstart": "x" * 5000}, "onstart"),
        ({"label": "a\nb"}, "label"),
        ({"max_dollars_per_proof": 0}, "max_dollars_per_proof"),
        ({"env": {"two words": "1"}}, "neither a variable nor a flag"),
        ({"secrets": {"A B": "env:X"}}, "no name of a variable"),
        ({"secrets": {"PAVAIL": "hunter2"}}, "secrets.PAVAIL must be env:NAME or file:PATH"),
        ({"env": {"API_TOKEN": "hunter22"}}, "env.API_TOKEN looks like a secret"),
        ({"env": {"PEER": "https://me:hunter22@host/"}}, "env.PEER looks like a secret"),
        ({"env": {"-e API_KEY=hunter22": "1"}}, "entry 1 of env looks like a secret"),
        ({"env": {"A": "1", "hunter22 x": "1"}}, "name 2 of env is neither a variable"),
        ({"secrets": {"API_KEY=hunter22": "env:X"}}, "name 1 of secrets is no name"),
        ({"min_rate_env": "API_KEY=hunter22"}, "min_rate_env is no name of a variable"),
        ({"label": "API_KEY=hunter22"}, "label holds a secret"),
        ({"env": {"A": "1"}, "secrets": {"A": "env:A"}}, "A stands in env and in secrets"),
        (
            {"env": {"MIN_RATE": "1"}, "max_dollars_per_proof": 0.01},
            "MIN_RATE stands in env or secrets and is set by max_dollars_per_proof",
        ),
        (
            {"secrets": {"R": "env:R"}, "min_rate_env": "R", "max_dollars_per_proof": 0.01},
            "R stands in env or secrets",
        ),
        ({"max_dollars_per_proof": 1e-9}, "max_dollars_per_proof must lie between 1e-05 and 10"),
        ({"max_dollars_per_proof": 1e9}, "max_dollars_per_proof must lie between"),
        ({"max_dollars_per_proof": float("nan")}, "max_dollars_per_proof must lie between"),
        ({"onstart": "export PASSWORD=hunter22\nrun"}, "onstart or image holds a secret"),
    ],
)
def test_what_no_template_may_be(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        Template(**{"image": "example/image", **fields})
    assert "hunter2" not in str(caught.value)


@given(st.floats(0.01, 20), st.floats(0.001, 0.1))
def test_the_least_rate_keeps_a_proof_below_its_maximum(price: float, most: float) -> None:
    rate = Template(image="x", max_dollars_per_proof=most).min_rate(price)
    assert rate is not None
    assert price / rate <= most * (1 + 1e-6)
    assert rate == 1 or price / (rate - 1) > most * (1 - 1e-6)
    assert Template(image="x").min_rate(price) is None


@given(st.text(max_size=60), st.uuids(), st.uuids())
def test_marks_are_of_one_intent_and_can_be_taken_off(label: str, one: Any, other: Any) -> None:  # noqa: ANN401 - a UUID
    marked = marked_label(label, one.hex)
    assert marked == marked_label(label, one.hex)
    assert (marked == marked_label(label, other.hex)) == (one == other)
    assert plain_label(marked) == label
    assert len(marked) == len(label) + 11


def test_the_policy_knows_a_label_with_its_mark() -> None:
    policy = Policy(labels={"night": 0.006, marked_label("night", "b"): 0.005})
    assert policy.dearest(1, marked_label("night", "a")) == 0.006
    assert policy.dearest(1, marked_label("night", "b")) == 0.005
    assert policy.dearest(1, "other") == 0.008
    assert plain_label(None) == ""


def test_secrets_come_from_where_the_template_says(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("of-a-file\n")
    template = Template(
        image="x",
        env={"PLAIN": "1", "-p 8000:8000": "1"},
        secrets={"ONE": "env:HERE", "TWO": f"file:{file}"},
        max_dollars_per_proof=0.01,
        label="night",
    )
    secrets = find_secrets(template, {"HERE": "of-the-env"})
    order = order_of(template, 0.405, "intent", secrets)
    assert order.body()["env"] == {
        "PLAIN": "1", "-p 8000:8000": "1", "ONE": "of-the-env", "TWO": "of-a-file",
        "MIN_RATE": "41.0",
    }  # fmt: skip
    shown = order.shown()
    assert shown["env"] == {
        "PLAIN": "1", "-p 8000:8000": "1", "ONE": "***", "TWO": "***", "MIN_RATE": "41.0",
    }  # fmt: skip
    assert {**shown, "env": {}} == {**order.body(), "env": {}}
    for text in (repr(order), str(shown), repr(template), repr(secrets)):
        assert "of-the-env" not in text
        assert "of-a-file" not in text


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"a\0b", b"x" * 70_000])
def test_a_secret_that_is_not_there_is_named_by_its_place(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SecretMissingError, match="the secret ONE") as caught:
        find_secrets(Template(image="x", secrets={"ONE": f"file:{file}"}), {})
    assert str(file) in str(caught.value)
    with pytest.raises(SecretMissingError, match="env:HERE is empty or not set"):
        find_secrets(Template(image="x", secrets={"ONE": "env:HERE"}), {"HERE": ""})


def test_an_answer_that_repeats_a_secret_is_left_out() -> None:
    order = RentalOrder(
        image="x", disk_gb=1, environment={"T": Secret("s3cr3t-token"), "E": Secret("")}
    )
    assert order.masked(sanitise("bad env T=s3cr3t-to…")) != "bad env T=s3cr3t-to…"
    assert "s3cr3t" not in order.masked(sanitise("s3cr3t-token"))
    assert order.masked(sanitise("no such ask")) == "no such ask"


def test_a_request_is_bound_to_the_template_that_was_shown() -> None:
    template = Template(image="x")
    rental = Rental(offer_id=1, template="t", fingerprint=template.fingerprint, price=1.0)
    assert bound_to(rental, template) is None
    assert "no template 't'" in (bound_to(rental, None) or "")
    for changes in ({"image": "y"}, {"secrets": {"A": "env:B"}}, {"disk_gb": 251.0}):
        other = msgspec.structs.replace(template, **changes)
        assert "another template" in (bound_to(rental, other) or "")


def test_templates_are_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'deploy.max_instances = 3\n[deploy.templates.cuzk]\nimage = "example/image"\n'
        "disk_gb = 300\n"
        'secrets = { PAVAIL = "env:PAVAIL_TOKEN" }\nmax_dollars_per_proof = 0.008\n'
    )
    deploy = config.load({}, {"FLEETUI_CONFIG": str(file)}).deploy
    assert (deploy.max_instances, deploy.templates["cuzk"].disk_gb) == (3, 300.0)
    for wrong in (
        'image = ""',
        'image = "x"\nimages = 1',
        'image = "x"\nenv = { TOKEN = "hunter22" }',
        'image = "x"\nenv = { "-e API_KEY=hunter22" = "1" }',
        'image = "x"\nenv = { "hunter22 x" = "1" }',
        'image = "x"\n"API_KEY=hunter22" = "1"',
    ):
        file.write_text(f"[deploy.templates.cuzk]\n{wrong}\n")
        with pytest.raises(config.ConfigError) as caught:
            config.load({}, {"FLEETUI_CONFIG": str(file)})
        assert "hunter22" not in str(caught.value)
