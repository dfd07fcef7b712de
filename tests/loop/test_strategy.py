"""strategy end to end: one living skill a domain, and what a person does about it."""

import random
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault, proposals
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import Brief, Draft, Findings
from skillvault.model.records import Ref, Skill, ref_of, stamp
from tests.conftest import NOW, Person
from tests.given import START, as_file, passing, raw, trade
from tests.streams import WAYS, batches, live_contents
from tests.thorough import only_thorough

NAME = "strategy-coding"
PATH = f"skills/{NAME}/SKILL.md"
GUIDE = "guide-coding-fix-flaky-test"
STEPS = ["evaluate", "generate", "refresh"]
LATER = NOW + timedelta(hours=1)
MOODS = ("calm", "hurried")


def task(number: int, **changes: Any) -> dict[str, Any]:
    """One of many tasks; those that are hurried fail."""
    mood = random.Random(number).choice(MOODS)
    at = START + timedelta(hours=number)
    fields = {
        "occurred_at": at.isoformat(),
        "decision__made_at": (at - timedelta(minutes=30)).isoformat(),
        "decision__target": None,
        "result": {"status": "failure" if mood == "hurried" else "success"},
        "context": {"mood": mood},
        "source__session": f"s{number}",
    }
    return raw(0, **{**fields, **changes})


def learn(vault: Vault, *given: dict[str, Any], hour: int = 0) -> list[str]:
    """Record outcomes and run; the headlines of the commits that are about a strategy."""
    now = NOW + timedelta(hours=hour)
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=now)
    done = vault.run(STEPS, now=now).done
    return [
        change.headline for d in done for change in d.commit_changes if NAME[:8] in change.headline
    ]


def tasks(first: int, count: int, **changes: Any) -> list[dict[str, Any]]:
    """So many tasks from a number on."""
    return [task(number, **changes) for number in range(first, first + count)]


def standing(vault: Vault) -> tuple[str, str]:
    """(state, reason) of the domain's strategy."""
    (answer,) = vault.why_not("coding")[1]
    skill_name, _, reason = answer.reason.partition(": ")
    assert skill_name == "a strategy of the domain"  # a guide may be made already
    return answer.state, reason


def skill(vault: Vault) -> Skill:
    """The strategy, wherever it stands."""
    return vault.skill(NAME)[0]


def section(body: str, heading: str) -> str:
    """One section's text."""
    return body.partition(f"## {heading}\n")[2].partition("\n## ")[0].strip()


@pytest.fixture
def twelve_tasks(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault that learned from twelve tasks."""
    return prepared(_learn_twelve)


def _learn_twelve(vault: Vault) -> None:
    learn(vault, *tasks(0, 12))


@pytest.fixture
def forty_tasks(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault that learned from forty tasks."""
    return prepared(_learn_forty)


def _learn_forty(vault: Vault) -> None:
    learn(vault, *tasks(0, 40))


def test_ten_tries_of_which_a_lead_is_known_make_the_first_and_nine_do_not(vault: Vault) -> None:
    assert learn(vault, *tasks(0, 9)) == []
    assert "Lead: " in vault.skill(GUIDE)[0].body
    assert standing(vault) == ("waiting", "9 outcomes so far; needs 10")
    assert learn(vault, task(9)) == [f"generate: {NAME}"]
    assert standing(vault) == ("done", f"generated {NAME}")
    assert vault.run(STEPS, now=NOW).done == []
    assert vault.check().problems == []


def test_tries_of_other_actions_of_the_domain_count(vault: Vault) -> None:
    learn(vault, *tasks(0, 8))
    plain = {"decision__action": "deploy", "context": {}, "result": {"status": "success"}}
    assert learn(vault, task(8, **plain)) == []
    assert learn(vault, task(9, **plain)) == [f"generate: {NAME}"]
    assert "deploy" not in skill(vault).body


def test_a_bulk_import_makes_one_that_reaches_all_its_outcomes(vault: Vault) -> None:
    assert learn(vault, *tasks(0, 40)) == [f"generate: {NAME}"]
    tree = vault.why(NAME)["sources"]
    assert len(tree) == 38
    assert all(leaf["ref"]["path"] for node in tree for leaf in node["sources"])
    assert "*coding: 38 outcomes, the last on 2026-11-02*" in skill(vault).body
    assert section(skill(vault).body, "What to Avoid") == (
        "- fix-flaky-test: When mood is hurried: then 17 of 17 were failures, otherwise 0 of 21."
    )
    assert section(skill(vault).body, "Performance Notes") == "- fix-flaky-test: 21 of 38 worked."


def test_it_says_at_any_time_what_the_guides_say(vault: Vault) -> None:
    """Of a domain that tells two actions, and one of which nothing is known to separate."""
    plain = {"decision__action": "plan", "context": {}}
    for hour in range(0, 60, 4):
        deploys = tasks(hour + 2, 2, decision__action="deploy")
        learn(vault, *tasks(hour, 2), *deploys, task(hour, **plain), hour=hour)
        skills = vault.store.snapshot().skills
        told = {
            f"- {guide.tags[1]}: {line.removeprefix('- ')}"
            for guide in skills.values()
            if guide.kind == "guide"
            for line in section(guide.body, "Rules and Leads").splitlines()
        }
        body = skills[NAME].body if NAME in skills else ""
        assert set(section(body, "What to Avoid").splitlines()) == told
    assert len(told) == 2
    assert "plan" not in body
    assert vault.check().problems == []


@pytest.mark.usefixtures("twelve_tasks")
def test_between_the_reading_points_of_its_actions_it_is_not_written(vault: Vault) -> None:
    assert learn(vault, *tasks(12, 2), hour=1) == []
    assert learn(vault, task(14), hour=2) == [f"refresh: {NAME}"]
    assert "*coding: 15 outcomes, the last on " in skill(vault).body
    assert skill(vault).created == stamp(START + timedelta(hours=14))
    assert skill(vault).expires == stamp(START + timedelta(days=180, hours=14))
    plain = {"decision__action": "plan", "context": {}, "result": {"status": "success"}}
    assert learn(vault, *(task(n, **plain) for n in range(15, 18)), hour=3) == []


@only_thorough  # tests/test_arrival.py always tries a strategy in a random order
@pytest.mark.parametrize("way", WAYS[1:])
def test_any_way_of_arrival_gives_the_same_strategy(tmp_path: Path, way: str) -> None:
    given = [*tasks(0, 25), *tasks(30, 17, decision__action="deploy")]
    contents = []
    for name in ("bulk", way):
        vault, _ = Vault.init(tmp_path / name.replace(" ", "-"), ["coding"], now=NOW)
        for part in batches(given, name, seed=3):
            learn(vault, *map(dict, part))
        contents.append(live_contents(vault.root))
    assert f"skill {NAME}" in contents[0]
    assert contents[0] == contents[1]


def test_untrusted_outcomes_neither_count_nor_are_looked_at(vault: Vault) -> None:
    assert learn(vault, *tasks(0, 30, source__trust="untrusted"), *tasks(30, 9)) == []
    assert standing(vault)[1] == "9 outcomes so far; needs 10"
    learn(vault, task(39))
    assert "*coding: 10 outcomes, the last on " in skill(vault).body


def test_each_domain_has_its_own(vault: Vault) -> None:
    said = learn(vault, *tasks(0, 10), *tasks(20, 10, domain="perps"))
    assert said == [f"generate: {NAME}", "generate: strategy-perps"]
    assert "*perps: 10 outcomes, the last on 2026-11-02*" in vault.skill("strategy-perps")[0].body
    assert "*coding: 10 outcomes, the last on 2026-11-01*" in skill(vault).body


@pytest.mark.usefixtures("forty_tasks")
def test_what_it_is_made_of_still_makes_its_guide(vault: Vault, person: Person) -> None:
    person.git("rm", "-rq", f"skills/{NAME}")
    person.remove_links(f"skill/{NAME},")
    late = task(40, decision__action="deploy", result={"status": "failure"})
    learn(vault, late, hour=1)
    assert len([s.name for s in vault.skills() if s.kind == "guide"]) == 2


def test_of_base_rates_alone_none_is_made_and_one_that_has_no_more_leaves(vault: Vault) -> None:
    alike = {"context": {"mood": "calm"}}
    results = [{"status": "failure" if n % 3 else "success"} for n in range(60)]
    assert learn(vault, *(task(n, **alike, result=results[n]) for n in range(10))) == []
    assert standing(vault) == ("waiting", "none of its actions has a rule or a lead")
    learn(vault, *tasks(10, 20), hour=1)
    assert skill(vault).status == "testing"
    later = (task(n, result=results[n - 30]) for n in range(30, 90))
    assert learn(vault, *later, hour=2) == [f"refresh: archive {NAME}"]
    assert vault.run(STEPS, now=NOW + timedelta(hours=3)).done == []
    assert learn(vault, *tasks(90, 100), hour=4) == [f"refresh: restore {NAME}"]


def test_a_dry_run_publishes_nothing(vault: Vault) -> None:
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(tasks(0, 12))], now=NOW)
    before = vault.store.git.head()
    said = [d.change.headline for d in vault.run(STEPS, now=NOW, dry=True).done]
    assert f"generate: {NAME}" in said
    assert vault.store.git.head() == before


# ── what a person does about it ──────────────────────────────────────────────────────


@pytest.mark.usefixtures("forty_tasks")
def test_a_section_that_a_person_wrote_stays_byte_for_byte(vault: Vault, person: Person) -> None:
    text = (vault.root / PATH).read_text()
    mine = "## Performance Notes\n\n*  Never   hurried,\n   wait for CI.  \n\n\n"
    old = text.partition("## Performance Notes")[2].partition("## ")[0]
    person.write(PATH, text.replace(f"## Performance Notes{old}", mine))
    person.git("commit", "-qam", "Our approach")
    assert learn(vault, *tasks(40, 12), hour=1) == [f"refresh: {NAME}"]
    after = (vault.root / PATH).read_text()
    assert mine in after
    assert "*coding: 48 outcomes, the last on " in after
    assert section(after, "What to Avoid") != section(text, "What to Avoid")
    learn(vault, *tasks(52, 12), hour=2)
    assert mine in (vault.root / PATH).read_text()


@pytest.mark.usefixtures("twelve_tasks")
def test_the_rest_of_the_front_matter_keeps_its_bytes(vault: Vault, person: Person) -> None:
    text = _read(vault).replace("  trust: local", "  trust: local # yes")
    edited = re.sub(r"description: .*", "# ours\ndescription: Ours.", text)
    person.write(PATH, edited)
    person.git("commit", "-qam", "Our words")
    learn(vault, *tasks(12, 12), hour=1)
    front, old = ((t.partition("\n---\n")[0]).splitlines() for t in (_read(vault), edited))
    changed = [line.partition(":")[0].strip() for line in front if line not in old]
    assert changed == ["account", "created", "expires", "written"]


def _read(vault: Vault) -> str:
    return (vault.root / PATH).read_text()


@pytest.mark.usefixtures("twelve_tasks")
def test_a_description_that_nobody_touched_is_renewed(vault: Vault) -> None:
    learn(vault, *tasks(12, 12), hour=1)
    assert skill(vault).description.endswith("10 of 10 failed, otherwise 0 of 14.")


@pytest.mark.usefixtures("twelve_tasks")
def test_one_that_a_person_removed_is_not_redone_and_said_so(vault: Vault, person: Person) -> None:
    person.git("rm", "-rq", f"skills/{NAME}")
    person.remove_links(f"skill/{NAME},")
    report = vault.run(STEPS, now=LATER)
    assert report.done == []
    assert [r.target for r in report.rejected] == [f"skill:{NAME}"]
    assert learn(vault, *tasks(12, 12), hour=1) == []
    assert standing(vault)[0] == "rejected"
    assert NAME not in {s.name for s in vault.skills()}


@pytest.mark.usefixtures("twelve_tasks")
def test_a_reverted_rewriting_is_not_repeated(vault: Vault, person: Person) -> None:
    first = _read(vault)
    learn(vault, *tasks(12, 12), hour=1)
    person.git("revert", "--no-edit", "HEAD")
    vault.run(STEPS, now=LATER)
    learn(vault, *tasks(24, 12), hour=2)
    assert section(_read(vault), "What to Avoid") == section(first, "What to Avoid")


@pytest.mark.usefixtures("twelve_tasks")
def test_a_link_that_a_person_removed_is_not_remade(vault: Vault, person: Person) -> None:
    skill_ref = Ref("skill", NAME)
    link = vault.store.snapshot().links.by_target([skill_ref])[0]
    path = vault.store.snapshot().records.path_of(ref_of(link)) or ""
    lines = (vault.root / path).read_text().splitlines(keepends=True)
    (vault.root / path).write_text("".join(one for one in lines if f"skill/{NAME}," not in one))
    person.git("commit", "-qam", "Not of this one")
    learn(vault, *tasks(12, 12), hour=1)
    links = vault.store.snapshot().links.by_target([skill_ref])
    assert link not in links
    assert len(links) == 23


def test_beside_a_persons_skill_of_its_name_it_has_another(vault: Vault, person: Person) -> None:
    own = f"---\nname: {NAME}\ndescription: How we work.\n---\n\nSlowly.\n"
    person.write(PATH, own)
    person.git("add", PATH)
    person.git("commit", "-qm", "Our strategy")
    (said,) = learn(vault, *tasks(0, 12))
    assert said.startswith(f"generate: {NAME}-")
    assert _read(vault) == own
    other = said.rpartition(" ")[2]
    person.git("rm", "-rq", f"skills/{other}")
    person.remove_links(f"skill/{other},")
    assert learn(vault, *tasks(12, 12), hour=1) == []


@pytest.mark.parametrize("how", ["pin", "retire"])
@pytest.mark.usefixtures("twelve_tasks")
def test_one_that_a_person_pinned_or_retired_stays_as_it_is(vault: Vault, how: str) -> None:
    getattr(vault.curate, how)(NAME, now=NOW)
    before = vault.skill(NAME)
    assert learn(vault, *tasks(12, 12), hour=1) == []
    assert vault.skill(NAME) == before


@pytest.mark.usefixtures("twelve_tasks")
def test_one_that_expired_comes_back_of_later_outcomes(vault: Vault) -> None:
    much_later = NOW + timedelta(days=181)
    vault.run(["expire"], now=much_later)
    assert vault.skill(NAME)[1] == PATH
    vault.record([("late.json", as_file(passing("coding", much_later)))], now=much_later)
    vault.run(["expire"], now=much_later)
    assert vault.skill(NAME)[1] == f"archive/{NAME}/SKILL.md"
    assert learn(vault, *tasks(12, 12), hour=24 * 182) == []
    assert learn(vault, *tasks(24 * 182, 6), hour=24 * 182) == [f"refresh: restore {NAME}"]
    found, path = vault.skill(NAME)
    assert path == PATH
    assert "*coding: 30 outcomes, the last on " in found.body
    assert vault.run([*STEPS, "expire"], now=NOW + timedelta(days=183)).done == []


@pytest.mark.usefixtures("twelve_tasks")
def test_one_that_a_person_is_editing_waits(vault: Vault, person: Person) -> None:
    mine = person.write(PATH, _read(vault) + "\nmine\n").read_text()
    vault.record([(f"n{n}.json", as_file(t)) for n, t in enumerate(tasks(12, 12))], now=LATER)
    report = vault.run(STEPS, now=LATER)
    assert [waiting.path for waiting in report.waiting] == [PATH]
    assert _read(vault) == mine
    person.git("commit", "-qam", "Mine")
    assert f"refresh: {NAME}" in [d.change.headline for d in vault.run(STEPS, now=LATER).done]


class SilentJudge(OfflineJudge):
    """Writes no strategies."""

    def write(self, brief: Brief) -> Draft | None:
        is_strategy = isinstance(brief, Findings) and brief.kind == "strategy"
        return None if is_strategy else super().write(brief)


def test_where_the_judge_writes_no_text_there_is_none(tmp_path: Path) -> None:
    made, _ = Vault.init(tmp_path / "v", ["coding"], now=NOW)
    vault = Vault(made.root, SilentJudge())
    assert learn(vault, *tasks(0, 12)) == []
    assert vault.check().problems == []


# ── what separates ───────────────────────────────────────────────────────────────────


def stream(seed: int, *, planted: bool) -> list[dict[str, Any]]:
    """120 trades; where one is planted, three of four in a storm are lost."""
    rng = random.Random(seed)
    found = []
    for number in range(120):
        at = START - timedelta(hours=200 - number)
        regime = rng.choice(["storm", "calm", "breeze"])
        lost = rng.random() < (0.75 if planted and regime == "storm" else 0.25)
        score = -rng.uniform(0.02, 0.2) if lost else rng.uniform(0.01, 0.3)
        context = {f"signal_{i}": rng.choice(["low", "mid", "high"]) for i in range(8)}
        found.append(
            trade(
                0,
                round(score, 4),
                occurred_at=at.isoformat(),
                decision__made_at=(at - timedelta(hours=rng.randrange(1, 9))).isoformat(),
                decision__action="open_long",
                source__session=f"s{number}",
                context={**context, "regime": regime, "volume": round(rng.gauss(100, 20), 1)},
            )
        )
    return found


@pytest.mark.parametrize("planted", [True, False])
def test_a_stream_names_the_planted_condition_or_none(vault: Vault, planted: bool) -> None:
    learn(vault, *stream(7, planted=planted))
    names = [one.name for one in vault.skills()]
    assert ("strategy-perps" in names) == planted
    bodies = [vault.skill(name)[0].body for name in names if not name.startswith("warning-")]
    rules = "".join(section(body, "What to Avoid") for body in bodies)
    rules += "".join(section(body, "Rules and Leads") for body in bodies)
    assert ("regime is storm" in rules) == planted
    assert planted or not rules
    assert "signal_" not in rules
    assert "volume" not in rules


@pytest.mark.usefixtures("forty_tasks")
def test_who_asks_for_an_action_gets_no_strategy_of_all_actions(vault: Vault) -> None:
    assert NAME in [one.name for one in vault.skills()]
    answer = vault.recommend("coding", "book a flight to Lisbon", action="fix_flaky_test")
    kinds = {one.kind for one in answer.recommended}
    assert (bool(kinds), "strategy" in kinds) == (True, False)


def test_a_next_version_shows_the_outcomes_that_it_rests_on(vault: Vault, person: Person) -> None:
    """One action loses its lead, so that the strategy tells fewer outcomes than before."""
    person.write("vault.yaml", "format: 1\ngenerate: {gate: always}\n")
    person.git("commit", "-qam", "gate")
    deploy = {"decision__action": "deploy"}
    learn(vault, *tasks(0, 10), *tasks(100, 12, **deploy))
    vault.curate.approve(NAME, now=NOW)
    learn(vault, *tasks(20, 8), *tasks(200, 10, result={"status": "success"}, **deploy), hour=1)
    (version,) = [one for one in proposals(vault) if one.name == f"{NAME}-next"]
    (count,) = re.findall(r": (\d+) outcomes, the last on", version.body)
    assert len(version.basis.rows) == int(count) < 22
