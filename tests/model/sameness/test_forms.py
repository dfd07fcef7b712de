"""FormIndex: which of many say the same is what a comparison of all pairs tells, in any order."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.model.sameness.comparison import FormIndex, group_same, is_same
from skillvault.model.sameness.form import Form, normal_form
from tests.model.sameness.given import texts

several = st.lists(texts, max_size=12)


@settings(deadline=None)
@given(several, texts)
def test_what_is_found_is_what_a_scan_of_all_finds(known: list[str], text: str) -> None:
    index, form, forms = FormIndex(), normal_form(text), [normal_form(t) for t in known]
    assert [index.add_form(other) for other in forms] == list(range(len(forms)))
    assert index.same(form) == [n for n, f in enumerate(forms) if is_same(form, f)]


def _scanned(forms: Sequence[Form]) -> list[list[int]]:
    """The group_same by comparing all pairs again and again."""
    groups = [{n} for n in range(len(forms))]
    for a in range(len(forms)):
        for b in range(a):
            if is_same(forms[a], forms[b]):
                joined = [group for group in groups if a in group or b in group]
                groups = [group for group in groups if group not in joined]
                groups.append(set().union(*joined))
    return sorted(sorted(group) for group in groups)


@settings(deadline=None)
@given(several)
def test_components_are_those_of_all_pairs(known: list[str]) -> None:
    forms = [normal_form(text) for text in known]
    assert group_same(forms) == _scanned(forms)


@settings(deadline=None)
@given(several.flatmap(lambda known: st.tuples(st.just(known), st.permutations(known))))
def test_components_do_not_depend_on_order(
    orders: tuple[list[str], list[str]],
) -> None:
    groups = []
    for known in orders:
        found = group_same([normal_form(text) for text in known])
        groups.append(sorted(sorted(known[n] for n in group) for group in found))
    assert groups[0] == groups[1]
