import json
import subprocess
import sys
from pathlib import Path

import pytest

from terminal import FLEETUI

HOSTS = Path(__file__).parents[1] / "data" / "hosts"


def run(
    *arguments: str, environment: dict[str, str], seconds: float = 90
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FLEETUI, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )


def test_help_imports_no_screen_and_no_network(quiet_environment: dict[str, str]) -> None:
    script = (
        "import sys, fleetui.start as start\n"
        "sys.argv = ['fleetui', '--help']\n"
        "try:\n    start.main()\n"
        "finally:\n"
        "    heavy = {'textual', 'asyncssh', 'httpx', 'aiohttp', 'aiosqlite'} & set(sys.modules)\n"
        "    assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=quiet_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    for verb in ("demo", "simulate", "collect", "status", "diagnose", "audit"):
        assert verb in done.stdout


@pytest.mark.parametrize("verb", [[], ["collect"]])
def test_without_a_key_it_says_where_keys_are_looked_for(
    quiet_environment: dict[str, str], verb: list[str]
) -> None:
    done = run(*verb, environment=quiet_environment)
    assert done.returncode == 2
    assert "VAST_API_KEY" in done.stderr
    assert "vast_api_key" in done.stderr
    assert "fleetui demo" in done.stderr
    assert "Traceback" not in done.stderr


def test_status_without_a_store_says_what_to_start(quiet_environment: dict[str, str]) -> None:
    done = run("status", "--json", environment=quiet_environment)
    assert done.returncode == 2
    assert "fleetui collect" in done.stderr


def test_a_wrong_option_is_wrong_use(quiet_environment: dict[str, str]) -> None:
    assert run("--nope", environment=quiet_environment).returncode == 2
    assert run("diagnose", "/no/such/place", environment=quiet_environment).returncode == 2
    told = run("diagnose", "/no/such/place", "--json", environment=quiet_environment)
    assert told.returncode == 2
    assert "/no/such/place" in json.loads(told.stdout)["error"]


@pytest.mark.parametrize("folder", sorted(path.parent for path in HOSTS.glob("*/expected.json")))
def test_diagnose_reads_each_sample_host_as_expected(
    folder: Path, quiet_environment: dict[str, str]
) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    done = run("diagnose", str(folder), "--json", environment=quiet_environment)
    answer = json.loads(done.stdout)
    assert answer["stage"] == expected["stage_reached"], answer
    categories = [finding["category"] for finding in answer["findings"]]
    serious = [item for item in answer["findings"] if item["severity"] != "info"]
    if expected["category"] is None:
        assert not serious
    else:
        assert categories[0] == expected["category"]
        first = answer["findings"][0]
        pairs = {(item["source"], item["line"]) for item in first["evidence"]}
        for item in expected["evidence"]:
            assert (item["file"], item["line"]) in pairs
        assert first["summary"]
        assert first["advice"]
    critical = any(item["severity"] == "critical" for item in answer["findings"])
    assert done.returncode == int(critical)


def test_headless_demo_prints_one_json_object_last_and_leaves_nothing(
    quiet_environment: dict[str, str],
) -> None:
    done = run(
        "demo", "--headless", "--for", "20", "--hosts", "12", "--json",
        environment=quiet_environment, seconds=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["instances"] == 12
    assert sum(report["by_stage"].values()) == 12
    assert report["walks"] >= 1
    assert report["ssh_connected"] >= 5
    assert report["log_bytes"] > 10_000
    assert report["proofs_per_hour"] > 0
    assert {"instance", "category", "severity", "summary", "evidence"} <= set(report["findings"][0])
    assert not list(Path(quiet_environment["TMPDIR"]).iterdir())
