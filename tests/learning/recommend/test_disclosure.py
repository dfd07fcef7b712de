"""disclosure: what is told of skills that are not given whole."""

import math

from skillvault.learning.recommend.disclosure import (
    FactHit,
    Slot,
    Summary,
    disclose,
    paths_of,
    without_names,
)
from skillvault.model.policy import RecommendPolicy

SAID = "\u201cThe stop was moved away twice and it fell further.\u201d"


def test_one_path_tells_of_all_skills_of_a_folder() -> None:
    own = [(name, f"skills/{name}/SKILL.md") for name in ("skill", "python")]
    assert paths_of(own) == ["skills/NAME/SKILL.md"]
    team = [("python", "team/python-team/python/SKILL.md"), ("go", "team/go.md"), ("x", "")]
    assert paths_of(team) == ["team/NAME.md", "team/python-team/NAME/SKILL.md"]


def test_many_places_are_told_by_the_command_alone() -> None:
    assert paths_of((f"s{n}", f"team-{n}/s{n}/SKILL.md") for n in range(3)) == []


def test_a_line_is_left_out_that_names_a_skill_whole() -> None:
    text = "- See retry-budget.\n- See retry-budget-2 and a-retry-budget.\n- Wait."
    assert without_names(text, ["retry-budget"]) == "\n".join(text.split("\n")[1:])
    assert without_names(text, []) == without_names(text, ["none"]) == text


def bodies(*texts: str, budget: int | None = 700) -> list[str]:
    slots = [Slot(f"s{n}", text, Summary()) for n, text in enumerate(texts)]
    rules = RecommendPolicy(budget=budget)
    answers, _ = disclose(slots, {}, (), rules, budget=budget or math.inf)
    return [answer.body for answer in answers]


def test_a_quotation_stands_once_in_an_answer() -> None:
    first, second = bodies(f"- SOL: {SAID}", f"- DOGE lost: {SAID}\n- Wait for the close.")
    assert (first, second) == (f"- SOL: {SAID}", "- Wait for the close.")


def test_a_skill_whose_only_quotation_stands_before_is_named() -> None:
    assert bodies(f"- SOL: {SAID}", f"# DOGE\n\n- DOGE: {SAID}")[1] == ""


def test_without_a_budget_equal_lessons_are_not_collapsed() -> None:
    texts = (f"- SOL: {SAID}", f"- DOGE: {SAID}")
    assert bodies(*texts, budget=None) == [*texts]


def test_a_fact_does_not_repeat_the_quotation_of_a_skill() -> None:
    slots = [Slot("a", f"- SOL: {SAID}", Summary())]
    hits = [FactHit("f", "perps", f"SOL failed: {SAID}", 0.9), FactHit("g", "perps", "Wait.", 0.9)]
    _, facts = disclose(slots, {}, hits, RecommendPolicy(), budget=700)
    assert [fact.id for fact in facts] == ["g"]
