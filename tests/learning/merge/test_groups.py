"""merge: which subjects say the same, and which a person keeps apart."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.merge.groups import Group, Voice, cause_keys, groups, rejected
from skillvault.learning.rejection import Rejection
from skillvault.model.policy import MergePolicy
from tests.learning.accounts import CHECKED, ERROR, PRICES, TENANT, ended, findings_of

RULES = MergePolicy()


def _voice(subject: str, causes: str) -> Voice:
    return Voice(subject=subject, first=f"o-{subject}", causes=tuple(causes))


def _groups(*voices: Voice, rules: MergePolicy = RULES) -> list[Group]:
    return list(groups("ops", "warning", voices, rules))


def _members(*voices: Voice, rules: MergePolicy = RULES) -> list[str]:
    return ["".join(v.subject for v in g.voices) for g in _groups(*voices, rules=rules)]


# ── which say the same ───────────────────────────────────────────────────────────────


def test_three_that_say_the_same_are_a_group_and_two_are_none() -> None:
    assert _members(_voice("a", "x"), _voice("b", "x")) == []
    assert _members(_voice("a", "x"), _voice("b", "x"), _voice("c", "x")) == ["abc"]
    pair = MergePolicy(min_similar=1)
    assert _members(_voice("a", "x"), _voice("b", "x"), rules=pair) == ["ab"]


def test_all_that_say_the_same_are_one_group() -> None:
    voices = [_voice(subject, "x") for subject in "abcde"]
    assert _members(*voices, _voice("f", "y"), _voice("g", "")) == ["abcde"]


@pytest.mark.parametrize(
    ("causes", "agrees"),
    [
        ("wx", False),  # one of two is not more than half
        ("x", True),  # all that the one says that says less
        ("xyp", True),
        ("xpqrs", False),  # one of the seed's two
        ("xypqrs", True),  # the seed says less, and all of it
        ("pq", False),
    ],
)
def test_who_shares_more_than_half_of_what_the_lesser_says_agrees(
    causes: str, agrees: bool
) -> None:
    seed, second, third = (_voice(s, "xy") for s in ("a", "b", "c"))
    found = _members(seed, second, third, _voice("d", causes))
    assert found == (["abcd"] if agrees else ["abc"])


@pytest.mark.parametrize(("similarity", "found"), [(0.5, []), (0.49, ["abc"]), (1.0, [])])
def test_how_much_must_agree_is_the_policys(similarity: float, found: list[str]) -> None:
    voices = [_voice(subject, f"x{subject}") for subject in "abc"]
    assert _members(*voices, rules=MergePolicy(similarity=similarity)) == found


def test_the_first_unused_by_name_is_the_seed_and_no_chain_joins_its_ends() -> None:
    """`c` agrees with all of them, but `d` to `f` do not with `a`."""
    ends = [_voice("a", "x"), _voice("b", "x"), _voice("c", "xy"), *(_voice(s, "y") for s in "def")]
    assert _members(*ends) == ["abc", "def"]
    assert _members(*ends[:-1]) == ["abc"]


def test_one_whose_own_group_is_too_small_may_join_a_later_one() -> None:
    voices = [_voice("a", "x"), _voice("b", "xy"), *(_voice(s, "y") for s in "cd")]
    assert _members(*voices) == ["abcd"]


def test_a_subject_is_in_one_group_at_most() -> None:
    voices = [_voice(s, "x") for s in "abc"] + [_voice("d", "xy")] + [_voice(s, "y") for s in "efg"]
    assert _members(*voices) == ["abcd", "efg"]


def test_a_group_is_known_by_what_most_of_it_says() -> None:
    (group,) = _groups(_voice("a", "yx"), _voice("b", "xy"), _voice("c", "y"), _voice("d", "xy"))
    assert (group.key, group.subject) == ("y", "ops / warning / y")
    assert group.subjects == frozenset("abcd")
    (tied,) = _groups(*(_voice(subject, "yx") for subject in "abc"))
    assert tied.key == "x"


VOICES = st.lists(
    st.builds(
        _voice,
        st.text("abcdefgh", min_size=1, max_size=2),
        st.sets(st.sampled_from("uvwxyz"), max_size=3).map(lambda causes: "".join(sorted(causes))),
    ),
    unique_by=lambda voice: voice.subject,
    max_size=14,
)


@given(VOICES, st.randoms(use_true_random=False), st.sampled_from([0.3, 0.5, 0.8]))
def test_the_order_of_arrival_changes_nothing(
    voices: list[Voice], chance: Random, similarity: float
) -> None:
    rules = MergePolicy(similarity=similarity)
    shuffled = sorted(voices, key=lambda _: chance.random())
    assert _groups(*shuffled, rules=rules) == _groups(*voices, rules=rules)


@given(VOICES)
def test_a_group_is_its_seed_and_all_unused_that_agree_with_it(voices: list[Voice]) -> None:
    used: set[str] = set()
    expected: list[set[str]] = []
    for seed in sorted(voices):
        agreeing = {
            v.subject
            for v in voices
            if seed.causes and v.causes and v.subject not in used
            and 2 * len({*seed.causes} & {*v.causes}) > min(len(seed.causes), len(v.causes))
        }  # fmt: skip
        if seed.subject not in used and len(agreeing) >= 3:
            expected.append(agreeing)
            used |= agreeing
    assert [group.subjects for group in _groups(*voices)] == expected


# ── what a subject says ──────────────────────────────────────────────────────────────


def test_what_says_the_same_has_the_same_key_in_whatever_subject() -> None:
    here = findings_of([ended(0, TENANT)])
    there = findings_of([ended(5, TENANT, decision__target="billing")])
    assert cause_keys(here) == cause_keys(there)
    assert len(cause_keys(here)) == 1
    assert cause_keys(findings_of([ended(0, PRICES)])) != cause_keys(here)


def test_a_target_is_no_part_of_what_a_subject_says() -> None:
    said = "I assume that {} needs no restart after the change."
    keys = {
        cause_keys(findings_of([ended(0, said.format(target), decision__target=target)]))
        for target in ("checkout-web", "billing-api")
    }
    assert len(keys) == 1


def test_the_opposite_has_another_key() -> None:
    retry, not_retry = (
        "I retry the failed payment at once.",
        "I do not retry the failed payment at once.",
    )
    assert cause_keys(findings_of([ended(0, retry)])) != cause_keys(
        findings_of([ended(0, not_retry)])
    )


def test_kinds_are_keys_of_their_own() -> None:
    lesson = ended(0, "", lesson={"do": TENANT})
    assert not {*cause_keys(findings_of([lesson]))} & {*cause_keys(findings_of([ended(0, TENANT)]))}


def test_where_only_the_kind_agrees_nothing_is_said_to_be_the_same() -> None:
    assert cause_keys(findings_of([ended(0, TENANT), ended(1, PRICES)])) == ()


def test_who_had_answers_refused_never_merges() -> None:
    answered = ended(1, TENANT, result={"answer": "24", "evidence": ERROR})
    assert cause_keys(findings_of([ended(0, TENANT), answered])) == ()


def test_what_worked_instead_and_what_is_contested_says_nothing() -> None:
    plain = findings_of([ended(0, TENANT)])
    cured = findings_of([ended(0, TENANT), ended(1, CHECKED, "success")])
    assert cause_keys(cured) == cause_keys(plain)
    assert cause_keys(findings_of([ended(0, TENANT), ended(1, TENANT, "success")])) == ()


# ── what a person took away ──────────────────────────────────────────────────────────

GONE = Rejection("skill:evolved-ops-x", "c1")


@pytest.mark.parametrize(
    ("sources", "is_rejected"), [("abc", True), ("abx", True), ("axy", False), ("xyz", False)]
)
def test_a_rejected_merge_stands_for_any_set_that_shares_two_of_its_sources(
    sources: str, is_rejected: bool
) -> None:
    sets = [(frozenset("abc"), GONE), (frozenset("pq"), Rejection("skill:e", "c2"))]
    assert rejected([*sources], sets) == (GONE if is_rejected else None)


def test_nothing_is_rejected_where_nothing_was_taken_away() -> None:
    assert rejected("abc", []) is None
