from pathlib import Path

import pytest

from fleetui.config import ConfigError, load
from fleetui.domain.role import Role


def write(path: Path, text: str) -> dict[str, str]:
    path.write_text(text, "utf-8")
    return {"FLEETUI_CONFIG": str(path)}


def test_flags_beat_environment_beats_file_beats_defaults(tmp_path: Path) -> None:
    environment = write(
        tmp_path / "config.toml",
        'walk_interval_seconds = 20\napi_url = "http://file"\nprofile = "generic"\n',
    )
    environment |= {"VAST_URL": "http://environment", "FLEETUI_PROFILE": "other"}
    settings = load({"profile": "flag", "read_only": None}, environment)
    assert settings.walk_interval_seconds == 20
    assert settings.api_url == "http://environment"
    assert settings.profile == "flag"
    assert settings.read_only is False


def test_paths_and_lists(tmp_path: Path) -> None:
    environment = write(tmp_path / "config.toml", 'state_dir = "state"\n')
    environment["FLEETUI_SSH_KEY"] = "/one:/two"
    settings = load({}, environment)
    assert settings.state_dir == tmp_path / "state"
    assert settings.store_path == tmp_path / "state" / "fleet.db"
    assert settings.ssh_keys == (Path("/one"), Path("/two"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("walk_intervall_seconds = 3", "did you mean 'walk_interval_seconds'"),
        ("zzz = 3", "unknown setting 'zzz'"),
        ("walk_interval_seconds = 0.1", "between 1 and 3600"),
        ('read_only = "perhaps"', "read_only"),
        ("= broken", "config.toml"),
        ('api_url = "ftp://x"', "api_url must start"),
    ],
)
def test_a_bad_setting_names_itself_and_its_place(tmp_path: Path, text: str, words: str) -> None:
    environment = write(tmp_path / "config.toml", text)
    with pytest.raises(ConfigError, match=words):
        load({}, environment)


def test_a_config_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load({}, {"FLEETUI_CONFIG": str(tmp_path / "none.toml")})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log_megabytes = -1", "log_megabytes must be at least 1"),
        ("log_megabytes_per_instance = 0", "log_megabytes_per_instance must be at least 1"),
        ('ssh_user = ""', "ssh_user must not be empty"),
        ("state_dir = 5", "expected a path"),
        ('clock = "1,2"', "FLEETUI_CLOCK must be"),
        ('clock = "x"', "settings:"),
    ],
)
def test_a_setting_that_would_do_harm_is_refused(tmp_path: Path, text: str, words: str) -> None:
    environment = write(tmp_path / "config.toml", text)
    with pytest.raises(ConfigError, match=words):
        load({}, environment)


def test_the_server_can_be_another() -> None:
    assert load({}, {"VAST_URL": "http://127.0.0.1:9/"}).api_url == "http://127.0.0.1:9/"
    assert load({}, {"VAST_URL": ""}).api_url == "https://console.vast.ai"


def test_roles_bound_what_may_be_asked_for(tmp_path: Path) -> None:
    environment = write(
        tmp_path / "config.toml",
        'role = "operator"\n[roles]\n"ada@desk" = "owner"\n'
        '[policy]\ninstances = { "4711" = 0.01 }\n',
    )
    settings = load({}, environment)
    assert (settings.role_here, settings.read_only) == (Role.OPERATOR, False)
    assert settings.roles == {"ada@desk": Role.OWNER}
    assert settings.policy.dearest(4711, "x") == 0.01
    assert load({"read_only": True}, environment).role_here is Role.VIEWER
    # A viewer's console binds no key that acts.
    assert load({}, environment | {"FLEETUI_ROLE": "viewer"}).read_only
    for wrong in ({"role": "king"}, {"acts_per_minute": -1}, {"request_expiry_minutes": 0.0}):
        with pytest.raises(ConfigError):
            load(wrong, environment)
