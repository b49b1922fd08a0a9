from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.redaction import MASK, Redactor, redact

HOSTS = Path(__file__).parents[1] / "data" / "hosts"
SECRET = "S3cr3tValue0123456789abcdef"


@pytest.mark.parametrize(
    "line",
    [
        f"Authorization: Bearer {SECRET}",
        f'curl -H "Authorization: Bearer {SECRET}" https://x',
        f"authorization=Basic {SECRET}",
        f"sent bearer {SECRET} to the node",
        f"HF_TOKEN={SECRET}",
        f"export PAVAIL_TOKEN='{SECRET}'",
        f"VAST_API_KEY={SECRET}",
        f'{{"api_key": "{SECRET}", "x": 1}}',
        f"api-key: {SECRET}",
        f"https://console.vast.ai/api/v0/instances?api_key={SECRET}&x=1",
        f"cuzk --auth-token {SECRET} --listen x",
        f"postgres://curio:{SECRET}@10.0.0.1:5433/yuga",
        f"FULLNODE_API_INFO=eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}:/ip4/127.0.0.1/tcp/1234/http",
        f"token eyJhbGciOiJIUzI1NiJ9.{SECRET}",
        f"cloned with ghp_{SECRET}",
        f"login hf_{SECRET} ok",
        f"db_password = {SECRET}",
        f"[daemon] secret_key={SECRET} port=1",
        f"PAVAIL={SECRET}",
        f"export DB_PASS={SECRET}",
        f"PASS={SECRET} curio run",
        f"AUTH='{SECRET}'",
        f"KEY={SECRET}",
        f"env PG_PWD={SECRET} psql",
        f'{{"DB_PASS": "{SECRET}"}}',
        f"Authorization: {SECRET}",
        f"authorization: ApiKey a, {SECRET}",
        f'-H "Authorization: AWS4-HMAC-SHA256 Credential=x, Signature={SECRET}" https://x',
        f"Proxy-Authorization: Digest username=x, response={SECRET}",
        f"Cookie: a=1; session={SECRET}",
        f"set-cookie: sid={SECRET}; HttpOnly",
        f"curl -u user:{SECRET} https://x",
        f"curl -sSu user:{SECRET} https://x",
        f"curl -s --user 'u:x {SECRET}'",
        f"wget --user=u:{SECRET} https://x",
        f'"password": "a\\"{SECRET}"',
        f'{{\\"api_key\\": \\"a {SECRET}\\", \\"x\\": 1}}',
        f'{{\\"password\\": \\"a\\\\\\"{SECRET}\\"}}',
        f"postgresql://u:p@ss{SECRET}@host:5433/yuga",
        f"postgresql://u:p@{SECRET}@host",
        f"postgresql://u:p/{SECRET}@host",
        f"amqp://:{SECRET}@h",
        f"DB_URL=mysql://u@corp:{SECRET}@h/x",
    ],
)
def test_secrets_are_masked_and_the_rest_stays(line: str) -> None:
    masked = redact(line)
    assert SECRET not in masked
    assert MASK in masked
    assert masked.split()[0][:4] == line.split(maxsplit=1)[0][:4]


@pytest.mark.parametrize(
    "line",
    [
        "2026-01-01T00:00:00 INFO cuzk_core: proof completed successfully job_id=ab-12 keys=3",
        "Parameter file /var/tmp/filecoin-proof-parameters/v28-x.params is ok",
        "parameter and key-fetching complete",
        "MalformedVerifyingKey",
        "tokens per second 12",
        "Permission denied (publickey).",
        "dial tcp 127.0.0.1:1234: connect: connection refused",
        "https://proofs.filecoin.io/ipfs/Qm1234",
        "bypass=1 key=ab12 auth=none pass=2",
        "PWD=/root OLDPWD=/tmp SSH_AUTH_SOCK=/tmp/agent.1",
        "GET http://10.0.0.1:8080/status@v1 took 3ms",
        "tcp://127.0.0.1:1234 authorised by ada@desk",
        "authorization failed for the user",
        "PASS: 12 proofs, KEY: none",
        "curl -sS -m 5 http://127.0.0.1:9821/status",
        "0184892090a14f650184892090a14f650184892090a14f650184892090a14f65",
    ],
)
def test_ordinary_lines_stay_as_they_are(line: str) -> None:
    assert redact(line) == line


def test_a_private_key_is_left_out_whole() -> None:
    text = (
        "before\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\nZXktdjE=\n"
        "-----END OPENSSH PRIVATE KEY----- after\nlast"
    )
    masked = Redactor().text(text)
    assert "b3Blbn" not in masked
    assert "ZXktdjE" not in masked
    assert masked.startswith("before\n")
    assert masked.endswith(" after\nlast")
    one = "x -----BEGIN RSA PRIVATE KEY-----AAAA-----END RSA PRIVATE KEY----- y"
    assert Redactor().line(one) == f"x {MASK} y"


def test_a_private_key_whose_beginning_was_cut_off_is_left_out() -> None:
    body = ["q83v", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz", "AAAA=="]
    end = "-----END OPENSSH PRIVATE KEY-----"
    masked = Redactor().text("\n".join([*body, end, "last", "c2FtZQ=="]))
    assert masked.split("\n") == [MASK, MASK, MASK, MASK, "last", "c2FtZQ=="]
    assert Redactor().text("\n".join([*body, "no end"])).split("\n") == [*body, "no end"]
    assert Redactor().line(f"x {body[1]}\\n{end} y") == f"x {MASK} y"


def test_variables_that_the_owner_calls_secret_are_masked_whatever_they_are_called() -> None:
    redactor = Redactor(names=["CURIO_DB", "X"])
    for line in (f"CURIO_DB={SECRET}", f'"X": "{SECRET}"', f"X: {SECRET}", f"a=1 X='b {SECRET}'"):
        assert SECRET not in redactor.line(line)
    for line in ("MAX=5", "X of Y", "CURIO_DB_HOST=h"):
        assert redactor.line(line) == line


def test_nothing_of_the_sample_hosts_logs_is_masked() -> None:
    logs = [path for path in HOSTS.rglob("*") if path.suffix in (".log", ".txt")]
    assert len(logs) > 20
    for path in logs:
        text = path.read_text("utf-8", "surrogateescape")
        assert Redactor().text(text) == text, path


def test_known_secrets_are_masked_wherever_they_stand() -> None:
    assert SECRET not in Redactor((SECRET,)).text(f"odd place:{SECRET}|\n{SECRET}")


@given(st.text())
def test_any_text_is_survived_and_nothing_is_masked_twice(text: str) -> None:
    once = Redactor().text(text)
    assert once.count("\n") == text.count("\n")
    assert Redactor().text(once) == once


@given(st.text(alphabet="ABCDEFabcdef0123456789", min_size=16, max_size=64))
def test_a_value_behind_a_telling_name_never_gets_through(secret: str) -> None:
    for line in (f"MY_TOKEN={secret}", f'"password": "{secret}"', f"Bearer {secret}"):
        assert secret not in redact(line)
