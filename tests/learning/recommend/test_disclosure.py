"""disclosure: what is told of skills that are not given whole."""

from skillvault.learning.recommend.disclosure import paths_of, without_names


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
