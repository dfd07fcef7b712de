"""snapshot: what the house asks of the committed vault."""

from hypothesis import given
from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.learning import evaluate, record
from skillvault.learning.effect import detect
from skillvault.records import Link, Ref, Skill, link_of
from skillvault.steps.run import Run
from skillvault.vault.files import codec, layout
from tests.given import NOW, as_file, evaluation, outcome, raw, trade
from tests.vault.given import showing

SKILL = "---\nname: a\ndescription: Says so.\n---\n\nDo it.\n"


def linked(source: str, target: str, kind: str, link: str = "merged") -> Link:
    """A link to a skill."""
    return link_of(link, Ref(kind, source), Ref("skill", target), NOW)  # type: ignore[arg-type]


def test_the_outcomes_behind_a_skill_are_found_through_all_links() -> None:
    first, second = outcome(trade(0)), outcome(trade(1, decision__target="ETH-PERP"))
    view = showing(
        first,
        second,
        linked(first.id, "a", "evaluation", "generated"),
        link_of("promoted", Ref("evaluation", second.id), Ref("fact", "f"), NOW),
        linked("f", "b", "fact", "derived"),
        linked("a", "e", "skill"),
        linked("b", "e", "skill"),
    )
    assert view.outcomes_behind(["e", "a"]) == {"e": (first, second), "a": (first,)}
    behind = {"e": {first.subject, second.subject}, "a": {first.subject}}
    assert view.subjects_behind(["e", "a"]) == behind
    assert view.from_memory("b")
    assert not view.from_memory("a")


def test_a_subject_is_one_trusts_outcomes_of_one_action_and_target() -> None:
    one, other = outcome(raw(2)), outcome(raw(1))
    view = showing(one, other, outcome(raw(0), "untrusted"), outcome(raw(3, decision__target=None)))
    assert [placed.id for placed in view.subject(one.id)] == [other.id, one.id]
    assert view.subject("20260101t000000z-0000000000") == []


def test_trusted_outcomes_are_ranked_among_trusted_ones() -> None:
    mine, theirs = outcome(raw(1)), outcome(raw(0), "untrusted")
    view = showing(mine, theirs, outcome(raw(2)))
    assert (view.since(mine), view.count(mine)) == (2, 2)
    assert (view.since(theirs), view.count(theirs)) == (3, 3)
    assert view.domains_of("local") == {"coding"}


def test_a_name_stays_taken_by_what_is_linked_to_it() -> None:
    view = showing(linked("a", "gone", "skill"))
    assert view.taken("gone")
    assert not view.taken("a")


def test_a_file_whose_name_is_no_text_is_kept_under_it() -> None:
    odd = b"skills/a/caf\xe9.txt".decode(errors="surrogateescape")
    view = showing(files={odd: b"x", "skills/a/SKILL.md": SKILL.encode()})
    assert view.below("skills/a") == ["skills/a/SKILL.md", odd]
    assert view.bytes_of([odd]) == {odd: b"x"}


def test_of_two_records_of_one_id_the_first_by_path_is_read() -> None:
    one = outcome()
    path = f"outcomes/other/{one.id[:4]}/{one.id[4:6]}/{one.id[6:8]}/{one.id}.yaml"
    view = showing(one, files={path: b"domain: x\n"})
    assert dict(view.outcomes) == {one.id: one}
    assert list(view.outcomes.values()) == [one]


def test_what_changed_is_due_and_nothing_else(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw(0))), ("b.json", as_file(trade(0)))], now=NOW)
    vault.run(now=NOW)
    vault.run(now=NOW)
    head = vault.store.head()
    assert head.unevaluated() == head.due("generate") == head.due("merge") == []
    vault.record([("c.json", as_file(raw(1)))], now=NOW)
    assert head.due("generate") == head.unevaluated() == [outcome(raw(1)).id]


def test_an_outcome_waits_for_a_judge_as_long_as_no_evaluation_stands() -> None:
    one, other = outcome(raw(0)), outcome(raw(1))
    said = evaluation(one)
    view = showing(one, other)
    assert view.unevaluated() == [one.id, other.id]
    view.lay({layout.path_of(said): codec.encode(said)})
    assert view.unevaluated() == [other.id]
    view.lay({layout.path_of(said): None, layout.path_of(other): None})
    assert view.unevaluated() == [one.id]


def test_a_skill_that_comes_or_goes_makes_what_it_rests_on_due() -> None:
    one = outcome()
    link = linked(one.id, "a", "evaluation", "generated")
    view = showing(one, evaluation(one), link, linked("a", "e", "skill"))
    for step in ("promote", "generate", "strategy"):
        view.settle(step, [one.id])
    view.lay({"skills/e/SKILL.md": SKILL.encode()})
    assert view.due("generate") == [one.id]
    view.settle("generate", [one.id])
    view.lay({"skills/e/SKILL.md": SKILL.encode() + b"More.\n"})
    assert view.due("generate") == []
    view.lay({"skills/e/SKILL.md": None})
    assert view.due("generate") == [one.id]
    assert view.due("promote") == []


def test_a_skill_is_found_in_whatever_folder_it_stands() -> None:
    view = showing(files={"archive/a/SKILL.md": SKILL.encode()})
    assert isinstance(view.any_skill("a"), Skill)
    assert view.path_of(Ref("skill", "a")) == "archive/a/SKILL.md"
    assert (view.skill_names("archive"), view.skill_names("skills")) == (["a"], [])


def test_what_rests_on_a_change_that_waits_is_not_made(vault: Vault) -> None:
    one, other = outcome(raw(0)), outcome(raw(1))
    run = Run(vault.store, judge=vault.judge, now=NOW)
    run.perform(record.record_change("coding", [one], []))
    run.perform(evaluate.evaluation_change("coding", [evaluation(one)], vault.judge.info))
    run.perform(record.record_change("coding", [other], []))
    place = vault.root / layout.path_of(one)
    place.parent.mkdir(parents=True)
    place.write_text("mine\n")
    run.flush()
    assert [waiting.path for waiting in run.report.waiting] == [layout.path_of(one)]
    assert list(vault.store.head().outcomes) == [other.id]
    assert list(vault.store.head().evaluations) == []
    run.perform(evaluate.evaluation_change("coding", [evaluation(one)], vault.judge.info))
    run.flush()
    assert [done.change.step for done in run.report.done] == ["record"]


NAMES = ("warning-late-exit", "a-b", "solo", "café-rule", "规则", "AND", "x_y z", "-")
AROUND = st.text(st.sampled_from([*"aéx 1_-./,'规\u0301\n"]), max_size=6)


@given(st.lists(st.tuples(AROUND, st.sampled_from(NAMES), st.sampled_from("-_ "), AROUND)))
def test_what_names_a_skill_is_among_what_may_name_it(said: list[tuple[str, ...]]) -> None:
    words = [f"{before}{name.replace('-', by)}{after}" for before, name, by, after in said]
    one = outcome(raw(decision__reasoning=f"We follow {', '.join(words)}"))
    listed = outcome(raw(1, applied=["warning_late_exit"]))
    view = showing(one, listed)
    found = detect.detect_all(one.decision.reasoning, None, detect.by_first_word(NAMES), {})
    assert all(one.id in view.naming([name]) for name in found)
    assert listed.id in view.naming(["warning-late-exit"])
