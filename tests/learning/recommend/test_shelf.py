"""shelf: which skills there are for an agent, and which of two of one name wins."""

from collections.abc import Iterable
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.recommend import shelf
from skillvault.learning.recommend.render import skills_xml
from skillvault.learning.recommend.shelf import Strategy
from skillvault.model.records import ShelfSkill, Skill
from tests.vectors import skill_of, vectors


def names(skills: list[Skill]) -> list[str]:
    return [skill.name for skill in skills]


def by(name: str, **fields: Any) -> Skill:
    return Skill(name, roles=("theory",), **fields)


@pytest.mark.parametrize("row", vectors("shelf_get_by"))
def test_look_ups_answer_as_the_vectors_say(row: dict[str, Any]) -> None:
    skills = [skill_of(one) for one in row["args"]["skills"]]
    found = getattr(shelf, row["args"]["call"])(skills, row["args"]["arg"])
    assert (names(found) if isinstance(found, list) else found and found.name) == row["expect"]


@pytest.mark.parametrize("row", vectors("shelf_top_k"))
def test_the_top_k_are_those_of_the_vectors(row: dict[str, Any]) -> None:
    args = dict(row["args"])
    given = args.pop("skills")
    usage = {one["name"]: one["usage"] for one in given}
    found = shelf.top_k([skill_of(one) for one in given], usage=usage, **args)
    assert names(found) == row["expect"]


@pytest.mark.parametrize("row", vectors("shelf_render"))
def test_the_block_is_that_of_the_vectors(row: dict[str, Any]) -> None:
    assert skills_xml([skill_of(one) for one in row["args"][0]]) == row["expect"]


# ── layers ───────────────────────────────────────────────────────────────────────────


def on(layer: str, path: str, name: str) -> ShelfSkill:
    return ShelfSkill(Skill(name, body=path), layer, path)


def test_a_later_layer_overrides_an_earlier_one_by_name() -> None:
    seed, domain = [on("seed", "s/a", "a"), on("seed", "s/b", "b")], [on("domain", "d/a", "a")]
    vault = [on("vault", "v/c", "c")]
    found = shelf.winners([seed, domain, vault])
    assert [(one.skill.name, one.layer) for one in found] == [
        ("a", "domain"),
        ("b", "seed"),
        ("c", "vault"),
    ]


def test_in_a_layer_the_last_path_wins() -> None:
    found = shelf.winners([[on("domain", "z.md", "a"), on("domain", "a.md", "a")]])
    assert [one.path for one in found] == ["z.md"]


def test_all_layers_are_told_with_the_one_that_wins() -> None:
    seed, vault = on("seed", "s/a", "a"), on("vault", "v/a", "a")
    other = on("seed", "s/b", "b")
    found = shelf.stack_layers([[other, seed], [vault]])
    assert found == [(seed, False), (vault, True), (other, True)]


# ── look-ups and pins ────────────────────────────────────────────────────────────────


def test_an_underscore_stands_for_a_hyphen_where_no_name_has_it() -> None:
    skills = [Skill("ucb-regret"), Skill("old_name")]
    assert shelf.get(skills, "ucb_regret") == skills[0]
    assert shelf.get(skills, "old_name") == skills[1]


def test_pins_come_first_in_the_order_given_even_from_outside_the_role() -> None:
    skills = [by("a"), by("b"), Skill("outside")]
    found = shelf.top_k(skills, role="theory", pins=["outside", "b", "b"])
    assert names(found) == ["outside", "b", "a"]


def test_a_pin_that_no_skill_has_is_named() -> None:
    assert shelf.split_pins([by("a")], ["ghost", "a"]) == ([by("a")], ["ghost"])


@pytest.mark.parametrize("strategy", ["tag", "semantic", "hybrid"])
def test_no_pin_is_cut_before_another_skill(strategy: shelf.Strategy) -> None:
    skills = [by("a"), by("b"), by("c", description="task")]
    found = shelf.top_k(skills, role="theory", task="task", k=2, strategy=strategy, pins=["b", "a"])
    assert names(found) == ["b", "a"]


@pytest.mark.parametrize("k", [0, -1])
def test_none_are_given_where_none_are_asked(k: int) -> None:
    assert shelf.top_k([by("a")], role="theory", k=k, pins=["a"]) == []


def test_without_role_and_stage_all_skills_are_candidates() -> None:
    assert names(shelf.top_k([Skill("b"), by("a")])) == ["a", "b"]


def test_equal_usage_is_ordered_by_name() -> None:
    assert names(shelf.top_k([by("b"), by("a")], role="theory", usage={"b": 0})) == ["a", "b"]


def test_the_semantic_strategy_takes_all_by_similarity() -> None:
    skills = [by("a"), Skill("b"), Skill("c")]
    scores = {"c": 0.9, "b": 0.2}
    found = shelf.top_k(skills, role="theory", strategy="semantic", k=2, scores=scores)
    assert names(found) == ["c", "b"]


def test_without_similarities_the_semantic_strategy_counts_shared_words() -> None:
    skills = [by("a"), Skill("b", "regret bounds")]
    assert names(shelf.top_k(skills, task="regret", strategy="semantic", k=1)) == ["b"]


# ── rendering ────────────────────────────────────────────────────────────────────────


def test_no_skills_make_no_block() -> None:
    assert skills_xml([]) == ""


@pytest.mark.parametrize(
    "imitation",
    [
        "</skill>",
        "</ skill >",
        "< /skill>",
        "</SKILL\n>",
        '<skill name="x">',
        "</skills>",
        "<skills>",
        "<\t/ skill>",
        "</instruction>",
        "<instruction>",
        "</skill",
    ],
)
def test_what_imitates_the_frame_is_plain_text(imitation: str) -> None:
    text = skills_xml([Skill("a", body=f"before {imitation} after")])
    said = f"before {imitation.replace('<', '&lt;')} after"
    assert text == f'<skills>\n<skill name="a">\n{said}\n</skill>\n</skills>'


@pytest.mark.parametrize(
    "kept", ["a < b", "<skill-name>", "<code>x</code>", "<skillful>", "x</div>"]
)
def test_other_marks_of_a_body_stay(kept: str) -> None:
    assert kept in skills_xml([Skill("a", body=kept)])


def test_a_name_cannot_leave_its_attribute() -> None:
    text = skills_xml([Skill('a"><b>\n&')])
    assert '<skill name="a&quot;&gt;&lt;b&gt; &amp;">' in text


@given(st.lists(st.text(alphabet="<>/skil nstrucoe\"'&\n"), min_size=1, max_size=3))
def test_no_body_changes_how_many_skills_there_are(bodies: list[str]) -> None:
    text = skills_xml([Skill(f"s{i}", body=body) for i, body in enumerate(bodies)])
    assert text.lower().count("</skill>") == len(bodies)
    assert text.lower().count("<skill ") == len(bodies)


def test_the_block_of_plain_texts_is_xml() -> None:
    found = fromstring(skills_xml([Skill("a", body="x"), Skill("b", body="y")]))
    assert [one.get("name") for one in found] == ["a", "b"]


@given(
    names=st.sets(st.sampled_from("abcdefghij"), max_size=10),
    usage=st.dictionaries(st.sampled_from("abcdefghijk"), st.integers(0, 3)),
    scores=st.dictionaries(st.sampled_from("abcdefghijk"), st.sampled_from([0.0, 0.5, 1.0])),
    k=st.integers(0, 4),
    strategy=st.sampled_from(shelf.STRATEGIES),
)
def test_of_the_shortlist_the_same_are_chosen_as_of_all(
    names: set[str], usage: dict[str, int], scores: dict[str, float], k: int, strategy: Strategy
) -> None:
    ordered = sorted(names)
    few = shelf.shortlist(ordered, k=k, strategy=strategy, usage=usage, scores=scores)

    def chosen(among: Iterable[str]) -> list[str]:
        skills = [Skill(name, description="a task" if name < "e" else "b") for name in among]
        found = shelf.top_k(
            skills, task="a task", k=k, strategy=strategy, usage=usage, scores=scores
        )
        return [one.name for one in found]

    assert chosen(few) == chosen(ordered)
