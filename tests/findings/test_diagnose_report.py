import json
import os
from pathlib import Path
from typing import Any

import pytest

from fleetui.reports.diagnose import (
    STREAMS,
    DiagnoseError,
    answer_text,
    diagnose_file,
    diagnose_folder,
)

DATA = Path(__file__).parent.parent / "data"


def test_answer_has_the_fixed_form() -> None:
    answer = diagnose_folder(DATA / "hosts" / "f01_broken_pipe_warmup")
    assert set(answer) == {"stage", "findings"}
    finding = answer["findings"][0]
    assert {"category", "severity", "confidence", "summary", "advice", "evidence"} <= set(finding)
    assert all(set(proof) == {"source", "line", "text"} for proof in finding["evidence"])
    assert json.loads(json.dumps(answer)) == answer


def test_text_for_the_terminal_leads_with_the_root_cause() -> None:
    text = answer_text(diagnose_folder(DATA / "hosts" / "f04_restart_port_in_use"))
    assert text.splitlines()[0] == "Stage reached: daemon_restart"
    assert "Root cause: daemon_port_in_use (critical" in text
    assert "/tmp/cuzk-bench-daemon.log:302" in text
    assert "Nothing wrong found." in answer_text(diagnose_folder(DATA / "hosts" / "b_success"))


def test_rows_of_the_api_are_told_apart() -> None:
    answer = diagnose_file(DATA / "vast_instances.json", "vast")
    named = {
        finding["summary"].split(":")[0]: finding["category"] for finding in answer["findings"]
    }
    assert named == {
        "instance 41201455": "vast_container_start_failed",
        "instance 41188031": "vast_host_offline",
        "instance 41193660": "vast_host_offline",
        "instance 41197215": "vast_outbid",
    }


def test_a_page_of_rows_and_rows_one_a_line_are_the_same(tmp_path: Path) -> None:
    rows = [entry["instance"] for entry in json.loads((DATA / "vast_instances.json").read_text())]
    page = tmp_path / "page.json"
    page.write_text(json.dumps({"success": True, "instances": rows, "next_token": None}))
    lines = tmp_path / "rows.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in rows))
    assert diagnose_file(page, "vast") == diagnose_file(lines, "vast")


def test_a_row_that_lost_its_id_is_read_all_the_same(tmp_path: Path) -> None:
    page = tmp_path / "page.json"
    rows = '{"actual_status": "exited", "intended_status": "running", "id": NaN}, 5, null'
    page.write_text(f'{{"instances": [{rows}]}}')
    answer = diagnose_file(page, "vast")
    assert [finding["category"] for finding in answer["findings"]] == ["vast_exited"]


def test_what_of_a_folder_cannot_be_read_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "host" / "fs" / "tmp"
    logs.mkdir(parents=True)
    (logs / "cuzk.log").write_text("thread 'x' panicked at src/a.rs:1:1: boom\n")
    (logs / "closed.log").write_text("who knows\n")
    opened = Path.open

    def open_unless_closed(path: Path, *how: Any, **more: Any) -> Any:  # noqa: ANN401 - as the original
        if path.name == "closed.log":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *how, **more)

    # Whoever runs the tests may be allowed to read everything.
    monkeypatch.setattr(Path, "open", open_unless_closed)
    answer = diagnose_folder(tmp_path / "host")
    assert [finding["category"] for finding in answer["findings"]] == ["prover_panic"]
    assert answer.unread == (f"{logs}/closed.log: Permission denied",)
    (logs / "cuzk.log").write_text("cuzk-daemon starting\n")
    quiet = diagnose_folder(tmp_path / "host")
    assert "no all-clear" in answer_text(quiet)
    (logs / "cuzk.log").unlink()
    with pytest.raises(DiagnoseError, match="Permission denied"):
        diagnose_folder(tmp_path / "host")


def test_a_large_file_is_read_piece_by_piece_to_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    filler = b"2026-03-12T07:03:48.000000Z  INFO cuzk_core::engine: x job_id=1\n" * 40_000
    path.write_bytes(filler + b"thread 'x' panicked at src/a.rs:1:1: boom\n")
    (finding,) = diagnose_file(path, "daemon")["findings"]
    assert finding["evidence"][0]["line"] == 40_001


@pytest.mark.parametrize(
    ("alias", "kind"), [("vast_api", "vast"), ("kernel", "dmesg"), ("nvidia-smi", "nvidia_smi")]
)
def test_other_names_of_a_stream(alias: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("nothing\n")
    assert diagnose_file(file, alias) == diagnose_file(file, kind)


def test_what_cannot_be_looked_into_is_said(tmp_path: Path) -> None:
    with pytest.raises(DiagnoseError, match="no stream kind"):
        diagnose_file(tmp_path, "poetry")
    with pytest.raises(DiagnoseError, match="missing"):
        diagnose_file(tmp_path / "missing", "daemon")
    with pytest.raises(DiagnoseError):
        diagnose_folder(tmp_path / "missing")
    with pytest.raises(DiagnoseError):
        diagnose_folder(tmp_path)


@pytest.mark.parametrize("data", [b'{"a":', b"[" * 200_000, b"[1,2"])
def test_json_that_cannot_be_read_is_no_all_clear(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(data)
    with pytest.raises(DiagnoseError, match="none that can be read"):
        diagnose_file(path, "vast")


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DiagnoseError, match="not a file"):
        diagnose_file(pipe, "daemon")
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)) * 400)
    with pytest.raises(DiagnoseError, match="binary data"):
        diagnose_file(binary, "daemon")


def test_a_sparse_log_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    line = b'thread main panicked\nfailed: "out of memory"\n'
    path.write_bytes(b"\0" * 100 + line * 3 + b"text " * 4000)
    assert diagnose_file(path, "daemon")["findings"]


@pytest.mark.parametrize("kind", STREAMS)
def test_text_of_no_known_form_gets_no_all_clear(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "poem.txt"
    file.write_text("Whose woods these are I think I know.\nHis house is in the village though;\n")
    answer = diagnose_file(file, kind)
    assert answer["findings"] == []
    assert "no all-clear" in answer_text(answer)
    assert "Nothing wrong" not in answer_text(answer)


def test_a_healthy_log_gets_its_all_clear() -> None:
    files = [
        ("fs/tmp/cuzk-bench-daemon.log", "daemon"),
        ("fs/tmp/benchmark-full.log", "bench"),
        ("fs/tmp/setup.log", "setup"),
    ]
    healthy = DATA / "hosts" / "b_success"
    for name, kind in files:
        if (healthy / name).exists():
            assert "Nothing wrong found." in answer_text(diagnose_file(healthy / name, kind)), name
    assert any((healthy / name).exists() for name, _ in files)


def test_an_error_body_that_was_cut_short_is_still_read(tmp_path: Path) -> None:
    file = tmp_path / "answer"
    file.write_text('{"success": false, "error": "insufficient_credit", "msg": "Your acc\n')
    findings = diagnose_file(file, "vast")["findings"]
    assert [finding["category"] for finding in findings] == ["vast_account_limit"]
    file.write_text('{"id": 12, "machine\n')
    with pytest.raises(DiagnoseError, match="looks like JSON"):
        diagnose_file(file, "vast")
