"""The rows of docs/policy.md: what holds under `profile: seed`, and not under the default."""

import re
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from skillvault.api import Vault
from skillvault.daemon import Watch
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning.capture.prompt import select_learned
from skillvault.learning.effect.verdict import Evidence, next_status
from skillvault.learning.recommend.disclosure import FactHit
from skillvault.learning.recommend.recommend import (
    Background,
    Candidate,
    Query,
    Selection,
    recommend,
)
from skillvault.learning.recommend.relevance import Match
from skillvault.loop.profiles import rules_of
from skillvault.model.brief import BlindCase, Case, InsightText, Verdict
from skillvault.model.policy import Policy, parse_policy
from skillvault.model.records import stamp
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade
from tests.tables import DOCS

# A row is the seed's alone: under the default its test must fail.
_UNDER_DEFAULT = pytest.param(
    "lift", marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason="the default")
)
LESSON = "retry the upload only after {} because the server counts attempts"


class EchoJudge(OfflineJudge):
    """Takes the confidence for the quality and the reasoning for the insight.

    An action that is called bad is a bad decision.
    """

    def verdict(self, case: BlindCase) -> Verdict:
        good = case.decision.action != "bad"
        return Verdict(was_good_decision=good, quality_score=case.decision.confidence or 0.0)

    def insight(self, case: Case, verdict: Verdict) -> InsightText:
        return InsightText(key_insight=case.outcome.decision.reasoning, insight_type="risk")


@pytest.fixture(params=["seed", _UNDER_DEFAULT])
def profile(request: pytest.FixtureRequest) -> str:
    """The profile under which a row is tried."""
    return str(request.param)


@pytest.fixture
def policy(profile: str) -> Policy:
    """The policy of the profile."""
    return parse_policy({"profile": profile})


@pytest.fixture
def school(vault: Vault, person: Person, profile: str) -> Vault:
    """A vault of the profile; its judge returns the verdict that an outcome states."""
    choose(person, profile)
    return Vault(vault.root, EchoJudge())


def choose(person: Person, profile: str) -> None:
    """Commit a vault.yaml that names a profile."""
    person.write("vault.yaml", f"format: 1\nprofile: {profile}\n")
    person.git("commit", "-qam", f"By the profile {profile}")


def task(number: int, text: str, quality: float = 0.8, **changes: Any) -> dict[str, Any]:
    """Make a success that teaches `text`, by a verdict of this quality."""
    fields = {
        "decision__reasoning": text,
        "decision__confidence": quality,
        "decision__target": f"t{number}",
        "result": {"status": "success"},
        "source__session": f"s{number}",
    }
    return raw(number, **{**fields, **changes})


def learn(vault: Vault, *given: dict[str, Any], days: float = 0) -> None:
    """Record outcomes and run the loop, so many days later."""
    now = NOW + timedelta(days=days)
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=now)
    vault.run(now=now)


def facts(vault: Vault) -> list[str]:
    """Return the texts of all facts, sorted."""
    return sorted(fact.text for fact in vault.memory.facts())


def from_memory(vault: Vault) -> list[str]:
    """Return the folder of each skill that facts made."""
    links = vault.store.snapshot().links.values()
    names = sorted({link.target.id for link in links if link.type == "derived"})
    return [vault.skill(name)[1] for name in names]


def test_every_row_has_a_test() -> None:
    page = (DOCS / "policy.md").read_text(encoding="utf-8")
    named = re.findall(r"test_profiles\.py::(\w+)", page)
    assert len(named) == 19
    assert [name for name in named if name not in globals()] == []


# ── promote ──────────────────────────────────────────────────────────────────────────


def test_facts(school: Vault) -> None:
    """A right verdict of 0.7 alone: no surprise, and no two sessions that say the same."""
    learn(
        school,
        task(0, "caches are warm after the first run", quality=0.7),
        task(1, "backups finish before the night ends", quality=0.69),
        task(2, "backups finish before the night ends", quality=0.69),
        task(3, "migrations are safe here", quality=0.9, result={"status": "failure"}),
    )
    assert facts(school) == ["caches are warm after the first run"]


def test_words_over_three_letters_decide_what_repeats_a_fact(vault: Vault, person: Person) -> None:
    choose(person, "seed")
    school = Vault(vault.root, EchoJudge())
    texts = ("do retry failed payments at the close", "do not retry failed payments at the close")
    learn(school, *(task(n, text) for n, text in enumerate(texts)))
    assert len(facts(school)) == 1
    kinds = [link.type for link in school.store.snapshot().links.values()]
    assert sorted(kind for kind in kinds if kind != "generated") == ["promoted", "reinforced"]


def test_promote_gate(school: Vault) -> None:
    """The quality as it is: a confirmed mistake teaches nothing."""
    failed = {"result": {"status": "failure"}, "decision__action": "bad"}
    learn(
        school,
        task(0, "deploys on Friday evening break the queue", quality=0.1, **failed),
        task(1, "a restart without a drain loses jobs", quality=0.8, **failed),
    )
    assert facts(school) == ["a restart without a drain loses jobs"]


def test_patterns(school: Vault) -> None:
    """Clusters alone: one fact is no pattern, however often it is repeated."""
    learn(school, *(task(n, LESSON.format("a pause")) for n in range(4)))
    assert len(facts(school)) == 1
    assert from_memory(school) == []


def of_one_session(*words: str) -> list[dict[str, Any]]:
    """Make lessons of one session that are similar but do not repeat each other."""
    texts = (f"{word}1 {word}2 server counts attempts hourly" for word in words)
    return [task(n, text, source__session="s") for n, text in enumerate(texts)]


def test_promote_min_sessions(school: Vault) -> None:
    """Three facts are served, though all of them are of one session."""
    learn(school, *of_one_session("pause", "delay", "break"))
    assert [place.partition("/")[0] for place in from_memory(school)] == ["skills"]


def test_promote_every(school: Vault) -> None:
    """Facts become a pattern in every fifth cycle of the daemon."""
    watch = Watch(
        school,
        stopping=lambda: False,
        say=lambda _: None,
        on_done=lambda _: None,
        on_report=lambda _: None,
    )
    skills: list[int] = []
    texts = of_one_session("pause", "delay", "break", "sleep", "later")
    for number, one in enumerate(texts):
        given = as_file(one | {"source": {"session": str(number)}})
        school.record([("one.json", given)], now=NOW)
        watch._run_due()
        skills.append(len(from_memory(school)))
    assert skills == [0, 0, 0, 0, 1]


# ── generate ─────────────────────────────────────────────────────────────────────────


def losses(*targets: str, first: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Make a loss on each target, one a day, all with the same cause."""
    fields = {"decision__confidence": 0.1, **changes}
    return [trade(first + n, decision__target=t, **fields) for n, t in enumerate(targets)]


def names(vault: Vault, folder: str = "skills") -> list[str]:
    """Return the names of the skills in a folder."""
    return [skill.name for skill in vault.skills(folder)]


def bodies(vault: Vault) -> dict[str, str]:
    """The text of each skill in service."""
    return {name: vault.skill(name)[0].body for name in names(vault)}


def test_skills(school: Vault) -> None:
    """A skill for each significant outcome, which is not written anew."""
    learn(school, *losses("SOL-PERP"))
    before = bodies(school)
    assert len(before) == 1
    learn(school, *losses("SOL-PERP", first=1))
    assert len(names(school)) == 2
    assert before.items() <= bodies(school).items()


def test_names(school: Vault) -> None:
    """By the title, with `-2` if that is taken."""
    learn(school, *losses("SOL"), *losses("SOL", first=1))
    assert names(school)[1:] == [f"{names(school)[0]}-2"]


def test_merges(school: Vault) -> None:
    """A new skill and two that are similar by their words become one, whatever their causes."""
    reasons = (f"crowded longs on {name} paid funding for hours" for name in ("one", "two", "six"))
    for number, reason in enumerate(reasons):
        summary = {"score": -0.2, "summary": f"{reason}, stopped at {number}"}
        learn(school, *losses("SOL", first=number, result=summary, decision__reasoning=reason))
        kinds = sorted(skill.kind for skill in school.skills())
        assert kinds == (["evolved"] if number == 2 else ["warning"] * (number + 1))
    assert len(names(school, "archive")) == 3
    learn(school, *losses("SOL", first=4, result=summary, decision__reasoning=reason))
    assert ([s.kind for s in school.skills()], len(names(school, "archive"))) == (["evolved"], 4)
    assert school.check().problems == []


def strategy_links(vault: Vault) -> int:
    """Count the outcomes from which the strategy was made."""
    links = vault.store.snapshot().links.values()
    return sum(link.target.id == "strategy-coding" for link in links)


def grouped(count: int, first: int = 0) -> list[dict[str, Any]]:
    """So many outcomes, an hour apart."""
    at = NOW - timedelta(days=10)
    times = [(at + timedelta(hours=n)).isoformat() for n in range(first, first + count)]
    return [task(n, "a", occurred_at=t, decision__made_at=None) for n, t in enumerate(times)]


def test_generate_strategy_max(school: Vault) -> None:
    """The latest 20."""
    learn(school, *grouped(30))
    assert strategy_links(school) == 20


def test_strategies(school: Vault) -> None:
    """Of the latest outcomes, when there are ten since the last, not of full tens alone."""
    learn(school, *grouped(13))
    assert strategy_links(school) == 13
    learn(school, *grouped(9, 13))
    assert strategy_links(school) == 13
    learn(school, *grouped(1, 22))
    assert strategy_links(school) == 23
    assert school.run(now=NOW + timedelta(hours=1)).done == []


# ── recommend ────────────────────────────────────────────────────────────────────────


def ask(policy: Policy, decision: str | None = None, **scores: float) -> Selection:
    """Recommend from two candidates, one of them long."""
    among = [Candidate(name, "warning", size, "coding") for name, size in (("a", 90), ("b", 5000))]
    query = Query(domain="coding", decision=decision, strategy="hybrid")
    matches = {name: Match(score, score) for name, score in scores.items()}
    return recommend(among, query, rules_of(policy), lambda name: name, scores=matches or None)


def shown(answer: Selection) -> dict[str, float]:
    """Return the relevance of each recommended skill by its name."""
    return {skill.name: skill.relevance for skill in answer.recommended}


def test_recommend_budget(policy: Policy) -> None:
    """No budget: the length of a text decides nothing."""
    among = [Candidate("a", "warning", 9, "coding")]
    answer = recommend(among, Query(domain="coding"), rules_of(policy), lambda _: "word " * 5000)
    assert answer.recommended[0].how == "whole"


def test_capture_budget(policy: Policy) -> None:
    """Twenty rules however long they are, and as often as they are noted."""
    assert policy.capture.budget is None
    learned = select_learned([], [f"{n} {'word ' * 200}" for n in range(30)], policy.capture.budget)
    assert (len(learned.rules), learned.cut_rules) == (20, 0)


def test_recommend_bodies(policy: Policy) -> None:
    """As many texts as the limit lets through."""
    among = [Candidate(name, "warning", 9, "coding") for name in "abcde"]
    answer = recommend(among, Query(domain="coding"), rules_of(policy), lambda name: name)
    assert [skill.how for skill in answer.recommended] == ["whole"] * 5


def test_recommend_facts(policy: Policy) -> None:
    """No facts."""
    rules = msgspec.structs.replace(policy.recommend, answers=0.1, task=0.25)
    hit = FactHit("f", "coding", "Pin the clock of a flaky test.", 0.5)
    query = Query(domain="coding", strategy="hybrid")
    weighed = msgspec.structs.replace(policy, recommend=rules)
    answer = recommend(
        [], query, rules_of(weighed), str, scores={}, background=Background(facts=[hit])
    )
    assert answer.facts == []


def test_recommend_task(policy: Policy) -> None:
    """No weight of the task and so no floor: the table of relevance alone."""
    assert shown(ask(policy, a=0.9)).get("a") == 0.5
    assert shown(ask(policy, b=0.9)).get("a") == 0.5


def test_effect_holdout(policy: Policy) -> None:
    """Nothing is held out."""
    decisions = map(str, range(200))
    assert all("a" in shown(ask(policy, decision)) for decision in decisions)


# ── what use shows ───────────────────────────────────────────────────────────────────


def test_proof(policy: Policy) -> None:
    """Three uses at 50 %, and no more than that keeps a skill proven."""
    rules = rules_of(policy)
    assert rules.proves(Evidence(4, 2, 2, 0.5), policy)
    assert not rules.proves(Evidence(2, 2, 0, 1.0), policy)
    assert next_status("proven", Evidence(9, 4, 5, 4 / 9), rules).status == "testing"
    ends = {"a": Evidence(4, 2, 2, 0.5), "b": Evidence(4, 1, 3, 0.25), "c": Evidence(2, 0, 2, 0.0)}
    among = [Candidate(name, "warning", 1, "coding", evidence=ends[name]) for name in ends]
    answer = recommend(among, Query(domain="coding"), rules, lambda name: name)
    assert list(shown(answer)) == ["a", "c"]
    assert answer.recommended[0].badge == "✅ Proven (50% success, 4 uses)"


def test_retirement(policy: Policy) -> None:
    """Five failures in a row retire a skill, whatever the base rate is."""
    ends = [(4, "testing"), (5, "retired")]
    for streak, status in ends:
        evidence = Evidence(20, 5, 15, 0.25, consecutive_failures=streak)
        assert next_status("testing", evidence, rules_of(policy)).status == status


def test_clock(school: Vault) -> None:
    """Skills are made and age by the time of the run, however old their outcomes are."""
    old = [one | {"occurred_at": f"2018-01-0{n}T10:00:00Z"} for n, one in enumerate(grouped(9), 1)]
    learn(school, *old, *grouped(1))
    (skill,) = school.skills()
    assert (skill.created, skill.expires) == (stamp(NOW), stamp(NOW + timedelta(days=180)))
    school.run(now=NOW + timedelta(days=180))
    assert len(school.skills()) == 1
    school.run(now=NOW + timedelta(days=180, seconds=1))
    assert school.skills() == []


# ── whatever the profile ─────────────────────────────────────────────────────────────


def state(vault: Vault) -> tuple[int, dict[str, str], list[str]]:
    """Return the number of commits, the texts in service and the facts."""
    return len(vault.log()), bodies(vault), facts(vault)


@pytest.mark.parametrize(("first", "second"), [("lift", "seed"), ("seed", "lift")])
def test_a_vault_that_goes_to_another_profile_and_back_keeps_what_it_has(
    vault: Vault, person: Person, first: str, second: str
) -> None:
    school = Vault(vault.root, EchoJudge())
    given = [*losses("SOL", "SOL", "ARB"), *grouped(11), raw(5), raw(6)]
    choose(person, first)
    learn(school, *given)
    before = state(school)
    for profile in (second, first, second):
        choose(person, profile)
        learn(school)
        assert school.check().problems == []
        done = school.run(now=NOW).done
        assert done == []
        warnings = [s.name for s in school.skills() if s.kind == "warning"]
        about = [subject_of(school, name) for name in warnings]
        assert profile == "seed" or len(set(about)) == len(about)
    told = {subject_of(school, name) for name in names(school)}
    assert told >= {"open_long on SOL", "open_long on ARB"}
    assert set(before[2]) <= set(facts(school))


def subject_of(vault: Vault, name: str) -> str:
    """Return the subject that the first line below a skill's title names."""
    return vault.skill(name)[0].body.split("*")[1].partition(":")[0]


def test_an_earlier_run_supports_the_fact_that_a_later_one_made(
    vault: Vault, person: Person
) -> None:
    school = Vault(vault.root, EchoJudge())
    choose(person, "seed")
    failed = {"result": {"status": "failure"}, "decision__action": "bad"}
    qualities = {1: 0.1, 2: 0.9}  # by the letter only the second says enough, by the default both
    learn(school, *(task(n, LESSON.format("a pause"), q, **failed) for n, q in qualities.items()))
    assert len(school.memory.facts()) == 1
    choose(person, "lift")
    learn(school)
    assert len(school.memory.facts()) == 1
    assert school.run(now=NOW).done == []


def test_a_dry_run_says_what_the_run_does(vault: Vault, person: Person) -> None:
    choose(person, "seed")
    given = [*losses("SOL", "ARB", "DOGE"), raw(5), raw(6)]
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    dry, real = (
        [done.change.headline for done in vault.run(now=NOW, dry=dry).done] for dry in (True, False)
    )
    assert dry == real
    assert any(headline.startswith("merge: evolved") for headline in real)


@pytest.mark.parametrize(
    ("kind", "days"), [("warning", 60), ("pattern", 90), ("evolved", 180), ("strategy", 180)]
)
def test_every_kind_has_its_days_from_the_run_on(
    vault: Vault, person: Person, kind: str, days: int
) -> None:
    choose(person, "seed")
    given = {
        "warning": losses("SOL"),
        "pattern": [trade(0, score=0.3)],
        "evolved": losses("SOL", "ARB", "DOGE"),
        "strategy": grouped(10),
    }
    learn(vault, *given[kind], days=100)
    (skill,) = (vault.skill(one.name)[0] for one in vault.skills() if one.kind == kind)
    ends = NOW + timedelta(days=100 + days)
    assert (skill.created, skill.expires) == (stamp(NOW + timedelta(days=100)), stamp(ends))


def test_three_facts_of_a_persons_are_a_pattern(vault: Vault, person: Person) -> None:
    choose(person, "seed")
    for one in of_one_session("pause", "delay", "break"):
        vault.memory.add_fact(one["decision"]["reasoning"], "coding", now=NOW)
    vault.run(now=NOW)
    assert from_memory(vault) == ["skills/pattern-coding-server-counts-attempts/SKILL.md"]
    (body,) = bodies(vault).values()
    head = "*Generated from 3 related memory facts*\n*Domain: coding*\n\n## Consolidated Learning"
    assert body.startswith(f"# Pattern: server-counts-attempts\n\n{head}\n\n1. ")


def test_what_a_person_took_away_is_not_made_again(vault: Vault, person: Person) -> None:
    choose(person, "seed")
    learn(vault, *losses("SOL"))
    person.git("rm", "-rq", f"skills/{names(vault)[0]}")
    person.git("commit", "-qm", "Not this")
    report = vault.run(now=NOW)
    assert (report.done, len(report.rejected)) == ([], 1)
    (outcome,) = vault.store.snapshot().outcomes
    assert vault.why_not(outcome)[1][-1].state == "rejected"


def test_a_merge_that_a_person_reverted_is_not_redone(vault: Vault, person: Person) -> None:
    choose(person, "seed")
    learn(vault, *losses("SOL", "ARB", "DOGE"))
    assert len(names(vault)) == 1
    person.git("revert", "--no-edit", person.git("log", "-1", "--format=%H", "--grep=^merge:"))
    assert vault.run(now=NOW).done == []
    assert len(names(vault)) == 3
    assert vault.check().problems == []


def test_an_ungraded_failure_warns_once_and_the_success_right_after_it_teaches(
    vault: Vault, person: Person
) -> None:
    choose(person, "seed")
    ended = ["failure", "failure", "success", "success"]
    learn(vault, *(raw(n, result={"status": status}) for n, status in enumerate(ended)))
    assert sorted(skill.kind for skill in vault.skills()) == ["pattern", "warning"]
    states = [vault.why_not(name)[1][-1].state for name in sorted(vault.store.snapshot().outcomes)]
    assert states == ["done", "done", "done", "not new"]
    links = [
        link.type for link in vault.store.snapshot().links.values() if link.target.kind == "skill"
    ]
    assert sorted(links) == ["generated", "generated", "reinforced"]
    learn(vault, raw(8))
    links = [
        link.type for link in vault.store.snapshot().links.values() if link.target.kind == "skill"
    ]
    assert sorted(links) == ["generated", "generated", "reinforced", "reinforced"]
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


def test_untrusted_outcomes_are_proposed_and_merge_with_nothing(
    vault: Vault, person: Person
) -> None:
    choose(person, "seed")
    for number, one in enumerate(losses("SOL", "ARB", "DOGE")):
        (vault.root / "inbox" / "untrusted" / f"{number}.json").write_bytes(as_file(one))
    vault.run(now=NOW)
    assert (names(vault), len(names(vault, "proposed"))) == ([], 3)


# ── the numbers ──────────────────────────────────────────────────────────────────────


def test_a_number_in_vault_yaml_stands_over_the_profiles() -> None:
    numbers = {"promote": {"every": 2}, "recommend": {"budget": 300}}
    stated = parse_policy({"profile": "seed", **numbers})
    assert (stated.promote.every, stated.promote.gate) == (2, "quality")
    assert (stated.recommend.budget, stated.recommend.task) == (300, 0.0)
