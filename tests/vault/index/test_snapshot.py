"""snapshot: questions to the committed vault."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.learning import evaluate, record
from skillvault.learning.effect import detect, mentions
from skillvault.loop.run import Run
from skillvault.model import codec
from skillvault.model.records import Link, Ref, Skill, link_of
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Snapshot
from skillvault.vault.index.subjects import ActionKeys
from tests.given import NOW, as_file, evaluation, outcome, raw, recommendation, trade
from tests.vault.given import showing
from tests.vault.index.test_database import cut_off, damaged, of_another_version

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
    assert view.skills.source_outcomes(["e", "a"]) == {"e": (first, second), "a": (first,)}
    behind = {"e": {first.subject, second.subject}, "a": {first.subject}}
    assert view.skills.source_subjects(["e", "a"]) == behind
    assert view.skills.from_memory("b")
    assert not view.skills.from_memory("a")


def test_a_subject_is_one_trusts_outcomes_of_one_action_and_target() -> None:
    one, other = outcome(raw(2)), outcome(raw(1))
    view = showing(one, other, outcome(raw(0), "untrusted"), outcome(raw(3, decision__target=None)))
    assert [placed.id for placed in view.subjects.history(one.id)] == [other.id, one.id]
    assert view.subjects.history("20260101t000000z-0000000000") == []


def test_an_outcome_is_read_by_marks_that_go_when_it_changes_or_the_policy_does() -> None:
    one, other = outcome(raw(1)), outcome(raw(2))
    view = showing(one, other, evaluation(one))
    assert [placed.marks for placed in view.subjects.history(one.id)] == [None, None]
    assert [placed.evaluated for placed in view.subjects.history(one.id)] == [True, False]
    view.subjects.keep_marks({one.id: ("error x", "loss"), other.id: ()})
    assert [placed.marks for placed in view.subjects.history(one.id)] == [("error x", "loss"), ()]
    view.stage({layout.path_of(one): codec.encode(one)})
    assert [placed.marks for placed in view.subjects.history(one.id)] == [None, ()]
    view.stage({layout.VAULT_FILE: b"generate: {warning_below: -0.2}\n"})
    assert [placed.marks for placed in view.subjects.history(one.id)] == [None, None]


def test_what_an_action_says_stands_until_its_outcome_is_gone() -> None:
    one = outcome(raw(1))
    view = showing(one, evaluation(one))
    said = ActionKeys("fix-flaky-test", one.id, ("error-1", "guess-2"), 3, 1)
    view.subjects.keep_action_keys("coding", said)
    assert view.subjects.action_keys("coding") == [said]
    assert view.subjects.action_keys("perps") == []
    later = said._replace(keys=("error-1",))
    view.subjects.keep_action_keys("coding", later)
    assert view.subjects.action_keys("coding") == [later]
    view.stage({layout.path_of(one): None})
    assert view.subjects.action_keys("coding") == []


def test_what_domains_have_is_counted_by_trust() -> None:
    times = [raw(day) for day in range(3)]
    first, last = outcome(times[0]), outcome(times[1])
    theirs = outcome(times[2], "untrusted")
    view = showing(first, last, theirs, evaluation(first), evaluation(last), evaluation(theirs))
    assert view.outcomes.domains("local") == {"coding"}
    assert view.outcomes.ids_by_domain([theirs.id, "gone"]) == {"coding": {theirs.id}}
    assert view.outcomes.latest_time() == view.outcomes.latest_time("coding") == last.occurred_at
    assert view.outcomes.latest_time("perps") is None
    assert view.outcomes.count_evaluated("coding") == 2
    assert view.outcomes.latest_evaluated("coding", 1) == [last.id]


def test_what_contradicts_a_fact_is_not_what_a_skill_rests_on() -> None:
    mine, other = outcome(trade(0)), outcome(trade(1))
    fact = Ref("fact", "f")
    view = showing(
        mine,
        other,
        link_of("promoted", Ref("evaluation", mine.id), fact, NOW),
        link_of("contradicted", Ref("evaluation", other.id), fact, NOW),
        linked("f", "b", "fact", "derived"),
    )
    assert view.skills.source_outcomes(["b"]) == {"b": (mine,)}
    assert view.links.source_ids(fact, "contradicted") == [other.id]


def test_a_skill_is_found_by_its_subject_wherever_and_however_named() -> None:
    text = SKILL.replace("---\n\n", "metadata:\n  kind: warning\n  subject: x on y\n---\n\n")
    other = text.replace("x on y", "x on z")
    view = showing(
        files={
            "archive/b/SKILL.md": text.encode(),
            "skills/a/SKILL.md": text.encode(),
            "proposed/c/SKILL.md": other.encode(),
            "skills/d/SKILL.md": SKILL.encode(),
        }
    )
    found = [("a", "skills", "warning"), ("b", "archive", "warning")]
    rows = view.skills.by_subject("x on y")
    assert [(row.name, row.folder, row.kind) for row in rows] == found
    assert view.skills.by_subject("") == []


def test_an_outcome_without_a_task_has_the_one_of_its_recommendation() -> None:
    own = outcome(raw(1, decision__id="d-1", decision__task="mine"))
    silent = outcome(raw(2, decision__id="d-1"))
    theirs = outcome(raw(5, decision__id="d-1"), "untrusted")
    unasked, alone = outcome(raw(3, decision__id="d-2")), outcome(raw(4))
    view = showing(
        recommendation(decision="d-1", task="later", at="2026-11-20T11:00:00Z"),
        recommendation(decision="d-1", task="first"),
        recommendation(decision="d-1", at="2026-11-20T11:30:00Z"),
        recommendation("untrusted", decision="d-1", task="theirs", at="2026-11-20T11:45:00Z"),
        recommendation(decision="d-2"),
    )
    assert view.recommendations.tasks([own, silent, theirs, unasked, alone]) == {
        own.id: "mine",
        silent.id: "later",
        theirs.id: "theirs",
    }


def test_a_name_stays_taken_by_what_is_linked_to_it() -> None:
    view = showing(linked("a", "gone", "skill"))
    assert view.skills.is_name_taken("gone")
    assert not view.skills.is_name_taken("a")


def test_a_file_whose_name_is_no_text_is_kept_under_it() -> None:
    odd = b"skills/a/caf\xe9.txt".decode(errors="surrogateescape")
    view = showing(files={odd: b"x", "skills/a/SKILL.md": SKILL.encode()})
    assert view.files.below("skills/a") == ["skills/a/SKILL.md", odd]
    assert view.files.read([odd]) == {odd: b"x"}


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
    head = vault.store.snapshot()
    assert head.due.keys("evaluate") == head.due.keys("generate") == head.due.keys("merge") == []
    vault.record([("c.json", as_file(raw(1)))], now=NOW)
    head = vault.store.snapshot()
    assert head.due.keys("generate") == head.due.keys("evaluate") == [outcome(raw(1)).id]


def facts_of(head: Snapshot) -> tuple[object, ...]:
    """Something of each topic."""
    return (
        head.commit,
        dict(head.files.items()),
        head.policy,
        dict(head.outcomes),
        dict(head.evaluations),
        dict(head.facts),
        dict(head.links),
        dict(head.skills),
        head.history.log(),
        head.due.keys("promote"),
        head.uses.state,
        head.layers.by_position(),
        head.search("reproduce", 5),
        head.files.read(head.files),
    )


@pytest.mark.parametrize("place", ["on disk", "in memory"])
def test_a_snapshot_shows_what_it_showed_whatever_is_committed(vault: Vault, place: str) -> None:
    if place == "in memory":
        vault.store.index.detach()
    before, shown = vault.store.snapshot(), facts_of(vault.store.snapshot())
    vault.record([("a.json", as_file(raw(0))), ("b.json", as_file(trade(0)))], now=NOW)
    between, recorded = vault.store.snapshot(), facts_of(vault.store.snapshot())
    vault.run(now=NOW)
    vault.shelf.ready()
    assert facts_of(before) == shown
    assert facts_of(between) == recorded
    assert facts_of(vault.store.snapshot()) != recorded
    assert [len(head.outcomes) for head in (before, between)] == [0, 2]


def test_a_snapshot_shows_nothing_that_is_only_staged(vault: Vault) -> None:
    one = outcome(raw(0))
    before = vault.store.snapshot()
    vault.store.stage(record.record_change("coding", [one], []))
    assert list(vault.store.staging.outcomes) == [one.id]
    assert list(before.outcomes) == list(vault.store.snapshot().outcomes) == []
    vault.store.roll_back()
    assert list(vault.store.staging.outcomes) == []


def test_a_snapshot_cannot_be_changed(vault: Vault) -> None:
    with pytest.raises(TypeError, match="a snapshot cannot be changed"):
        vault.store.snapshot().due.mark_done("promote", ["a"])


@pytest.mark.parametrize("harm", [Path.unlink, damaged, cut_off, of_another_version])
def test_a_snapshot_outlives_the_file_that_it_is_read_from(
    vault: Vault, harm: Callable[[Path], None]
) -> None:
    vault.record([("a.json", as_file(raw(0)))], now=NOW)
    before = vault.store.snapshot()
    harm(vault.root / ".git/skillvault/index.db")
    assert list(before.outcomes) == [outcome(raw(0)).id]
    assert dict(vault.store.snapshot().outcomes) == dict(before.outcomes)


def test_an_outcome_waits_for_a_judge_as_long_as_no_evaluation_stands() -> None:
    one, other = outcome(raw(0)), outcome(raw(1))
    said = evaluation(one)
    view = showing(one, other)
    assert view.due.keys("evaluate") == [one.id, other.id]
    view.stage({layout.path_of(said): codec.encode(said)})
    assert view.due.keys("evaluate") == [other.id]
    view.stage({layout.path_of(said): None, layout.path_of(other): None})
    assert view.due.keys("evaluate") == [one.id]


def test_a_skill_that_comes_or_goes_makes_what_it_rests_on_due() -> None:
    one = outcome()
    link = linked(one.id, "a", "evaluation", "generated")
    view = showing(one, evaluation(one), link, linked("a", "e", "skill"))
    for step in ("promote", "generate"):
        view.due.mark_done(step, [one.id])
    view.stage({"skills/e/SKILL.md": SKILL.encode()})
    assert view.due.keys("generate") == [one.id]
    view.due.mark_done("generate", [one.id])
    view.stage({"skills/e/SKILL.md": SKILL.encode() + b"More.\n"})
    assert view.due.keys("generate") == []
    view.stage({"skills/e/SKILL.md": None})
    assert view.due.keys("generate") == [one.id]
    assert view.due.keys("promote") == []


def test_a_skill_is_found_in_whatever_folder_it_stands() -> None:
    view = showing(files={"archive/a/SKILL.md": SKILL.encode()})
    assert isinstance(view.skills.find("a"), Skill)
    assert view.records.path_of(Ref("skill", "a")) == "archive/a/SKILL.md"
    assert (view.skills.names("archive"), view.skills.names("skills")) == (["a"], [])


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
    assert list(vault.store.snapshot().outcomes) == [other.id]
    assert list(vault.store.snapshot().evaluations) == []
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
    found = detect.detect_all(one.decision.reasoning, None, mentions.index_by_word(NAMES), {})
    forms = map(mentions.shortest_form, found)
    assert all(one.id in view.outcomes.mentioning([form]) for form in forms)
    assert listed.id in view.outcomes.mentioning(["warning-late-exit"])
