"""Profiles: what loads, what is refused and how that is said."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.stage import Stage
from fleetui.profiles.loader import load
from fleetui.profiles.model import ProfileError, glob_covers
from fleetui.profiles.patterns import compile_pattern
from fleetui.profiles.words import CATEGORIES, SIGNALS
from fleetui.reading.findings.vocabulary import CATEGORIES as VOCABULARY

RULE = """
[[rule]]
id = "mine"
kinds = ["bench"]
any = ["hello world"]
"""
STREAM = '[[streams]]\nkind = "log"\npatterns = ["/tmp/x"]\n'


def test_the_prover_profile_is_whole() -> None:
    profile = load("cuzk")
    kinds = {spec.kind for spec in profile.streams}
    assert kinds == {"setup", "bench", "daemon", "config", "curio"}
    assert profile.status_port == 9821
    assert profile.kind_of("/tmp/cuzk.log") == "daemon"
    assert profile.kind_of("/tmp/other.log") is None
    assert profile.copies_of("setup")
    assert not profile.copies_of("daemon")
    assert profile.stage_limits[Stage.PARAM_FETCH] == 5400
    assert "restart_daemon" in profile.actions
    assert sum(profile.file_sizes.values()) == pytest.approx(133.3 * 2**30, rel=0.01)
    ids = [rule.id for rule in profile.rules]
    assert len(ids) == len(set(ids))


def test_the_generic_profile_knows_faults_but_no_stages() -> None:
    profile = load("generic")
    assert profile.rules
    assert not any(rule.stage for rule in profile.rules)


def test_the_operators_rules_are_added_to_every_profile(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(RULE)
    rule = load("cuzk", tmp_path).rules[-1]
    assert rule.id == "mine"
    assert rule.user


def test_the_operators_profile_replaces_or_extends_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "cuzk.toml").write_text('name = "cuzk"\n' + RULE)
    assert [rule.id for rule in load("cuzk", tmp_path).rules] == ["mine"]
    (tmp_path / "cuzk.toml").write_text(
        'extends = "cuzk"\nstatus_port = 1\n[stage_limits]\nbench = 10\n' + RULE
    )
    profile = load("cuzk", tmp_path)
    assert len(profile.rules) == len(load("cuzk").rules) + 1
    assert profile.status_port == 1
    assert profile.stage_limits[Stage.BENCH] == 10
    assert profile.stage_limits[Stage.PARAM_FETCH] == 5400
    assert profile.streams == load("cuzk").streams


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\nextends = "nosuch"\n', "mine.toml:2: extends = 'nosuch': no profile 'nosuch'; the"),
        ('\n\ninclude = ["nosuch"]\n', "mine.toml:3: include = 'nosuch': no profile 'nosuch'"),
        ('include = ["cuzk",\n"nosuch"]\n', "mine.toml:2: include = 'nosuch': no profile"),
        ('extends = "/nosuch/a.toml"\n', "mine.toml:1: extends = '/nosuch/a.toml': /nosuch/a"),
        ('extends = "other"\n', "other.toml is your own: only a built-in profile can be extended"),
    ],
)
def test_who_names_a_profile_that_is_not_there_is_told_where(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "other.toml").write_text(RULE)
    with pytest.raises(ProfileError) as refused:
        load("mine", tmp_path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path}/mine.toml:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nrules = 3", ":2: no such key: rules; it holds [[rule]] tables only"),
        (RULE + "[stage_limits]\nbench = 3", ":6: no such key: stage_limits"),
        ("\nrule = 5", ":2: rules are written as [[rule]] tables"),
        (RULE + 'colour = "red"', ":2: rule mine: no such key: colour"),
        ("[[rule]", ":1: Expected"),
    ],
)
def test_the_operators_rules_are_refused_with_a_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(ProfileError) as caught:
        load("cuzk", tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/rules.toml{said}")


def test_extending_may_change_one_rule(tmp_path: Path) -> None:
    changed = RULE.replace("mine", "bench.throughput")
    (tmp_path / "cuzk.toml").write_text('extends = "cuzk"\n' + changed)
    profile = load("cuzk", tmp_path)
    (rule,) = [rule for rule in profile.rules if rule.id == "bench.throughput"]
    assert rule.any == ("hello world",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('any = ["hello world"]', "it needs literals in any, or a pattern"),
        ('kinds = ["bench"]', "kinds must name some of"),
        ('id = "mine"', "it has no id"),
    ],
)
def test_what_is_missing_is_said_with_file_line_and_rule(
    tmp_path: Path, change: str, said: str
) -> None:
    (tmp_path / "own.toml").write_text(RULE + RULE.replace(change, "").replace("mine", "second"))
    with pytest.raises(ProfileError) as caught:
        load(tmp_path / "own.toml")
    assert "own.toml:7: rule " in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("addition", "said"),
    [
        ("pattern = '(unclosed'", "not a regular expression of RE2: missing ): (unclosed"),
        ("pattern = 'x*'", "matches the empty text"),
        (r"pattern = '(a)\1'", "not a regular expression of RE2: invalid escape sequence"),
        ("pattern = '(?=a)a'", "not a regular expression of RE2: invalid perl operator: (?="),
        ("pattern = '((a{9}){9}){999}'", "not a regular expression of RE2"),
        ("stage = 'nowhere'", "no such stage"),
        ("colour = 'red'", "no such key: colour"),
        ("fails = 'yes'", "fails must be true or false"),
        ("unless = 'x'", "unless must be a list"),
    ],
)
def test_bad_rules_are_refused(tmp_path: Path, addition: str, said: str) -> None:
    (tmp_path / "own.toml").write_text(RULE + addition)
    with pytest.raises(ProfileError, match=r"own\.toml:2: rule mine: ") as caught:
        load(tmp_path / "own.toml")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = \n", "line 1"),
        ("wrong = 1", "no such key: wrong"),
        ('\n\ninclude = ["nothing"]', "no profile 'nothing'"),
        ('extends = "own"', "no profile 'own'"),
        ("[stage_limits]\nnowhere = 3", ":2: stage_limits: no such stage"),
        ("[stage_limits]\nbench = -3", ":2: stage_limits: bench must be seconds above 0"),
        ('[[streams]]\nkind = "log"\npatterns = ["tmp/x"]', ":3: 'tmp/x' is not an absolute path"),
        ('[actions.x]\nfile = "../../etc/passwd"', "the file lies beside the profile"),
        ('[actions.x]\nfile = "missing.sh"', "action x"),
        ("status_port = true", "status_port must be a number"),
        (RULE + RULE, ":7: rule mine: the id is used twice"),
        ("\nrule = [1]", ":2: rule 1: a rule is written as a [[rule]] table"),
        ("\nstreams = 5", ":2: streams are written as [[streams]] tables"),
        ("\nactions = 5", ":2: actions are written as"),
        (STREAM + 'stage = ["boot"]', ":4: no such stage: ['boot']"),
        (STREAM.replace("log", "lgo"), ":2: no such kind: 'lgo'"),
        (STREAM + 'copies = "no"', ":4: copies must be true or false"),
        ("\nx = " + "[" * 5000, ":2: lists or tables lie too deep"),
        ("\nx = " + "1" * 5000, ":2: a number is too long"),
        ("[stage_limits]\nbench = nan", ":2: stage_limits: bench must be seconds above 0"),
        ("[silence_limits]\nbench = inf", ":2: silence_limits: bench must be seconds above 0"),
        ("input_bytes = inf", ":1: input_bytes must be a number above 0"),
        ("status_port = 1000000000000", ":1: status_port must be a number above 0, at most 65535"),
        (RULE + 'category = "disk_ful"', ":2: rule mine: no such category: 'disk_ful'"),
        ("\nrule = 5", ":2: rules are written as [[rule]] tables"),
        ("\n[rule]\nid = 1", ":2: rules are written as [[rule]] tables"),
        ('name = "a"\nrule = [{id = "a"}, {id = "b"}]', ":2: rule a: kinds must name"),
        ("name = 5", ":1: name must be a name"),
        ("# bench\n[stage_limits]\nboot = 1\n[silence_limits]\nboot = 0", ":5: silence_limits"),
        (STREAM + STREAM.replace("/tmp/x", "\\u0000"), ":6: '\\x00' holds a control"),
        (STREAM + STREAM.replace("/tmp/x", "/tmp/\\u0000"), ":6: '/tmp/\\x00' holds a control"),
        (STREAM + STREAM + "size = 3", ":7: a stream has kind, patterns, copies and stage only"),
        (STREAM + "patterns = 1", ":4: Cannot overwrite a value"),
        ("[actions.x]\nscript = 3", ":1: action x: give either script, file or files"),
        (RULE.replace("hello world", "a\\nb"), ":2: rule mine: any: 'a\\nb' is in no line"),
        (
            RULE + "pattern = '''\n[[rule]]\n#\\d'''\n" + RULE.replace("bench", "nowhere"),
            ":10: rule mine: kinds must name",
        ),
        (
            '[[rule]]\nid = """\n[[rule]]\n"""\nkinds = [\n  "log", # [[rule]]\n]\n[[ "rule" ]]',
            ":1: rule [[rule]]\n: it needs literals",
        ),
        (RULE + 'signal = "proof_dun"', ":2: rule mine: no such signal: 'proof_dun'"),
    ],
)
def test_bad_files_are_refused_with_a_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ProfileError) as caught:
        load(tmp_path / "own.toml")
    assert said in str(caught.value)


def test_including_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('include = ["b"]')
    (tmp_path / "b.toml").write_text('include = ["a"]')
    with pytest.raises(ProfileError, match="includes itself"):
        load("a", tmp_path)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="cuzk"):
        load("nothing")
    with pytest.raises(ProfileError, match="cannot be read"):
        load("/nonexistent/profile.toml")


@given(st.text(max_size=80))
def test_any_text_as_a_file_loads_or_is_refused(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.toml"
        path.write_text(text, "utf-8")
        try:
            load(path)
        except ProfileError as error:
            said = str(error)
            assert str(path) in said or "no profile" in said


@given(st.text(alphabet="ab+*?()[]|.{}1,\\d^$P<>", max_size=20), st.text(max_size=20))
def test_a_pattern_is_refused_or_searches_any_text(text: str, line: str) -> None:
    try:
        pattern = compile_pattern(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either ending is right
        return
    fields = pattern.search(line)
    assert fields is None or all(value in line for value in fields.values())


@pytest.mark.parametrize(
    "text",
    ["(a+)+$", "(a|aa)+$", "a.*a.*a.*a.*a.*b", r"(?P<x>(?:a+\S*)+)\s*=", "(a{1,30}){1,30}b"],
)
def test_no_pattern_can_hang_on_a_hostile_line(text: str) -> None:
    """Each of these would take longer than the universe has, if it were tried step by step."""
    assert compile_pattern(text).search("a" * 4095 + "!") is None


def test_the_patterns_of_the_profiles_cannot_hang_either() -> None:
    for rule in load("cuzk").rules:
        if rule.pattern is not None:
            literal = rule.any[0]
            hostile = (literal + literal + "0 B /") * (4096 // len(literal))
            fields = rule.pattern.search(hostile[:4096])
            assert fields is None or all(value in hostile for value in fields.values())


def test_a_slow_rule_is_reported_with_file_line_and_rule(tmp_path: Path) -> None:
    (tmp_path / "cuzk.toml").write_text(
        'extends = "cuzk"\n'
        + RULE
        + RULE.replace("mine", "every").replace('any = ["hello world"]', "pattern = 'a+b'")
        + RULE.replace("mine", "marks").replace("hello world", ": =")
        + RULE.replace("mine", "short").replace("hello world", "ab")
    )
    (tmp_path / "rules.toml").write_text(RULE.replace('any = ["hello world"]', "pattern = 'b'"))
    own, extra = tmp_path / "cuzk.toml", tmp_path / "rules.toml"
    every = "every line of its kinds is decoded and searched"
    assert load("cuzk", tmp_path).warnings == (
        f"{own}:8: rule every: slow: without literals in any, {every}",
        f"{own}:13: rule marks: slow: for the literal ': =' {every}",
        f"{own}:18: rule short: slow: the literal 'ab' is short: many lines hold it",
        f"{extra}:2: rule mine: slow: without literals in any, {every}",
    )
    assert load("cuzk").warnings == ()


def test_globs_stay_inside_one_folder() -> None:
    assert glob_covers("/tmp/cuzk*.log", "/tmp/cuzk-bench-daemon.log")
    assert not glob_covers("/tmp/*.log", "/tmp/a/b.log")
    assert not glob_covers("/tmp/?.log", "/tmp/ab.log")
    assert not glob_covers("/tmp/a.log", "/tmp/axlog")


def test_the_words_of_rules_are_those_that_mean_something() -> None:
    assert set(CATEGORIES) == set(VOCABULARY)
    assert {rule.signal for rule in load("cuzk").rules if rule.signal} == SIGNALS


def test_a_pattern_that_is_linear_but_very_slow_is_refused_or_reported(tmp_path: Path) -> None:
    many = "|".join(f"(?P<g{number}>[a-z]+ .*{number}z)" for number in range(90))
    (tmp_path / "own.toml").write_text(RULE + f"pattern = '{many}'")
    with pytest.raises(ProfileError, match=r"own\.toml:2: rule mine: the pattern is too dear"):
        load(tmp_path / "own.toml")
    (tmp_path / "own.toml").write_text(RULE + "pattern = '(a{1,30}){1,30}b'")
    (said,) = load(tmp_path / "own.toml").warnings
    assert "own.toml:2: rule mine: slow: its pattern is large" in said
