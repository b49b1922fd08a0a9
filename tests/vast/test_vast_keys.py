from pathlib import Path

from fleetui.vast.keys import find_keys


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def found(environment: dict[str, str], home: Path) -> tuple[str | None, str | None]:
    search = find_keys(environment, home)
    return (
        search.read_key.reveal() if search.read_key else None,
        search.write_key.reveal() if search.write_key else None,
    )


def test_the_official_order(tmp_path: Path) -> None:
    assert found({}, tmp_path) == (None, None)
    write(tmp_path / ".vast_api_key", "legacy\n")
    assert found({}, tmp_path) == ("legacy", "legacy")
    write(tmp_path / ".config/vastai/vast_api_key", " file \n")
    assert found({}, tmp_path)[1] == "file"
    write(tmp_path / ".config/vastai/vast_tfa_key", "session")
    assert found({}, tmp_path)[1] == "session"
    assert found({"VAST_API_KEY": "variable"}, tmp_path)[1] == "variable"
    assert found({"VAST_API_KEY": ""}, tmp_path)[1] == "session"


def test_the_config_folder_can_be_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/vastai/vast_api_key", "x1")
    assert found({"XDG_CONFIG_HOME": str(tmp_path / "elsewhere")}, tmp_path)[1] == "x1"


def test_a_narrower_key_reads(tmp_path: Path) -> None:
    environment = {"FLEETUI_READ_KEY": "narrow", "VAST_API_KEY": "wide"}
    assert found(environment, tmp_path) == ("narrow", "wide")


def test_no_key_says_where_it_looked(tmp_path: Path) -> None:
    text = find_keys({}, tmp_path).explain()
    for place in ("VAST_API_KEY", "vast_tfa_key", ".config/vastai/vast_api_key", ".vast_api_key"):
        assert place in text
    assert find_keys({"VAST_API_KEY": "k"}, tmp_path).explain() == ""


def test_keys_never_show(tmp_path: Path) -> None:
    search = find_keys({"VAST_API_KEY": "very-secret"}, tmp_path)
    assert "very-secret" not in repr(search)
    assert "very-secret" not in search.explain()


def test_odd_files_hold_no_key(tmp_path: Path) -> None:
    write(tmp_path / ".config/vastai/vast_api_key/folder", "x")
    (tmp_path / ".vast_api_key").write_bytes(b"\xff\xfe\x00")
    assert found({}, tmp_path) == (None, None)
