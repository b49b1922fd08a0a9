"""Answers of hosts, grouped and compared."""

from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.answer import MOST_DIFFERENCES, Answer, compare
from fleetui.domain.text import SafeText


def answer(
    number: int, *lines: str, status: int | None = 0, errors: tuple[str, ...] = ()
) -> Answer:
    return Answer(
        intent_id=f"i{number}",
        instance_id=number,
        at=1.0,
        command=SafeText("x"),
        exit_status=status,
        lines=tuple(map(SafeText, lines)),
        errors=tuple(map(SafeText, errors)),
    )


def test_what_is_each_hosts_own_tells_no_difference() -> None:
    groups = compare(
        [
            answer(1, "GPU 0: RTX 4090 (UUID: GPU-0a1b2c3d-0000-1111-2222-333344445555)"),
            answer(2, "GPU 0: RTX 3090 (UUID: GPU-0a1b2c3d-0000-1111-2222-333344445556)"),
            answer(3, "GPU 0: RTX 4090  (UUID: GPU-ffffffff-0000-1111-2222-333344445557)"),
        ]
    )
    assert [group.instance_ids for group in groups] == [(1, 3), (2,)]
    assert groups[0].difference == ()
    assert [line[:18] for line in groups[1].difference] == [
        "- GPU 0: RTX 4090 ",
        "+ GPU 0: RTX 3090 ",
    ]


def test_numbers_tell_a_difference_unless_told_otherwise() -> None:
    answers = [answer(1, "24564 MiB at 10.0.0.1"), answer(2, "24000 MiB at 10.9.9.9")]
    assert len(compare(answers)) == 2
    assert len(compare(answers, numbers=False)) == 1


def test_the_end_and_the_errors_count() -> None:
    groups = compare([answer(1), answer(2), answer(3, status=1, errors=("no such file",))])
    assert groups[1].difference == ("exit status 1, not 0", "+ no such file")


def test_a_long_difference_is_cut() -> None:
    groups = compare([answer(1, *["a"] * 300), answer(2, *["b"] * 300)])
    assert len(groups[1].difference) == MOST_DIFFERENCES + 1
    assert groups[1].difference[-1] == "and 400 more lines"


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, None]), st.lists(st.text(alphabet="ab 1:", max_size=4))),
        max_size=8,
    )
)
def test_each_answer_is_in_one_group_and_groups_differ(
    given_answers: list[tuple[int | None, list[str]]],
) -> None:
    answers = [
        answer(number, *lines, status=status)
        for number, (status, lines) in enumerate(given_answers)
    ]
    groups = compare(answers)
    assert sorted(i for group in groups for i in group.instance_ids) == list(range(len(answers)))
    sizes = [len(group.answers) for group in groups]
    assert sizes == sorted(sizes, reverse=True)
    assert all(group.difference for group in groups[1:])
