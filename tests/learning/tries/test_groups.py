"""The same deed with its figures, and the same kind whatever the figures, in any order."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from skillvault.learning.tries.tries import group_by_deed, group_by_kind
from skillvault.model.brief import Try


def same_deed(a: Try, b: Try) -> bool:
    """Return True if two tries are one group by their deeds."""
    return len(group_by_deed([a, b])) == 1


def same_kind(a: Try, b: Try) -> bool:
    """Return True if two tries are one group by the kinds of their deeds."""
    return len(group_by_kind([a, b])) == 1


def did(deed: str, number: int = 0, **fields: object) -> Try:
    values: dict[str, object] = {
        "id": f"t-{number}",
        "at": datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=number),
        "status": "failure",
        "deed": deed,
    }
    return Try(**{**values, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "deed", "kind"),
    [
        ("Raise the wait from 2 s to 5 s.", "I raise the wait from 2 s to 5 s.", True, True),
        ("Raise the wait from 2 s to 5 s.", "Raise the wait from 2 s to 9 s.", False, True),
        ("Label smoothing 0.05.", "Label smoothing 0.1.", False, True),
        ("Raise the wait to 5 s.", "Lower the wait to 5 s.", False, False),
        ("Set a stop at 5 %.", "Set no stop at 5 %.", False, False),
        ("", "", False, False),
    ],
)
def test_figures_tell_deeds_apart_and_not_kinds(a: str, b: str, deed: bool, kind: bool) -> None:
    first, second = did(a), did(b, 1)
    assert (same_deed(first, second), same_kind(first, second)) == (deed, kind)


def test_figures_of_what_was_observed_make_no_other_deed() -> None:
    def enter(funding: str, stop: int) -> Try:
        ground = f"Funding was {funding} %"
        said = f"{ground}, so I enter with a stop at {stop} %."
        return did(said, claims=(ground,), observed=(funding,))

    assert same_deed(enter("0.05", 5), enter("0.09", 5))
    assert not same_deed(enter("0.05", 5), enter("0.05", 9))


def test_a_figure_that_nobody_observed_is_the_deeds() -> None:
    first = did("Dropout is 0.1 now.", claims=("Dropout is 0.1 now",))
    second = did("Dropout is 0.3 now.", 1, claims=("Dropout is 0.3 now",))
    assert not same_deed(first, second)
    assert same_kind(first, second)


def test_the_target_makes_no_other_deed() -> None:
    first = did("Buy the breakout of SOL with a stop.", target="SOL-PERP")
    assert same_deed(first, did("Buy the breakout of ETH with a stop.", 1, target="ETH-PERP"))


def test_groups_are_values_of_the_set_of_tries() -> None:
    tries = [
        did("Dropout 0.1.", 0),
        did("", 1),
        did("Dropout 0.3.", 2),
        did("Dropout 0.1", 3),
        did("Warm up for 500 steps.", 4),
    ]
    for order in permutations(tries):
        assert [[t.id for t in g] for g in group_by_deed(order)] == [
            ["t-0", "t-3"],
            ["t-1"],
            ["t-2"],
            ["t-4"],
        ]
        assert [[t.id for t in g] for g in group_by_kind(order)] == [
            ["t-0", "t-2", "t-3"],
            ["t-1"],
            ["t-4"],
        ]
