"""Claude writes skills; what is of no use is repaired once, then the offline text stands."""

import json
from collections.abc import Iterable

import pytest

from skillvault.api import Vault
from skillvault.judge.claude.figures import RecordFigures, find_unsupported
from skillvault.judge.claude.replies import SectionReply, SkillReader, SkillReply
from skillvault.model.brief import Draft, SessionExcerpt
from skillvault.model.records import Commit
from tests.conftest import NOW, Person
from tests.given import as_file, trade
from tests.judge.server import (
    INSIGHT,
    Answer,
    Body,
    Server,
    asked_for,
    claude,
    message,
    record,
    told,
    written,
)

WARNING = ("Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist")
SMALL = trade(0, -0.05)  # of which there is a guide alone


def spoiled(**spoil: object) -> Answer:
    """A text with something wrong in it."""
    good = written({"sections": ["Do"]})
    return message({**good, **spoil})


BAD = {
    "empty": message(""),
    "refused": message("", "refusal"),
    "cut-off": message('{"title": "Chasing', "max_tokens"),
    "off-schema": message({"title": "Chasing"}),
    "no-sections": spoiled(sections=[]),
    "foreign-section": spoiled(sections=[{"heading": "Origin", "text": "- made up"}]),
    "no-text": spoiled(sections=[{"heading": "Do", "text": "## \n---\n"}]),
    "no-title": spoiled(title=" "),
    "own-figures": spoiled(description="Loses 93 % of all trades. Use before a long."),
}


def texts(api: Server) -> list[Body]:
    """The requests for a text."""
    return [body for body in api.requests if asked_for(body) == "text"]


def learned(vault: Vault, *given: Body) -> list[Commit]:
    """Record outcomes, run the loop; the commits that made skills of outcomes."""
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    vault.run(now=NOW)
    return [one for one in vault.log() if one.step == "generate"]


def said(vault: Vault, commit: Commit) -> str:
    """A commit's message."""
    return " ".join(vault.store.git.text("log", "-1", "--format=%B", commit.sha).split())


@pytest.mark.parametrize("name", BAD)
def test_a_text_of_no_use_is_asked_for_once_more(name: str, claudes: Vault, api: Server) -> None:
    answers = [BAD[name]]
    api.script = lambda b: answers.pop() if asked_for(b) == "text" and answers else claude(b)
    (commit,) = learned(claudes, SMALL)
    assert "Claude on do" in claudes.skill(claudes.skills()[0].name)[0].body
    assert "Your last reply could not be used. " in told(texts(api)[1])
    assert "offline judge" not in said(claudes, commit)


@pytest.mark.parametrize(
    ("written_so", "kept"),
    [
        ("It loses. Use it before.", "Use before open_long on SOL-PERP. It loses. Use it before."),
        ("Use before a long: it loses.", "Use before a long: it loses."),
    ],
)
def test_a_description_says_first_when_to_use_the_skill(
    claudes: Vault, api: Server, written_so: str, kept: str
) -> None:
    answer = spoiled(description=written_so)
    api.script = lambda body: answer if asked_for(body) == "text" else claude(body)
    learned(claudes, SMALL)
    assert claudes.skill(claudes.skills()[0].name)[0].description == kept


@pytest.mark.parametrize("name", [name for name in BAD if name != "own-figures"])
def test_then_the_offline_text_stands_and_its_commit_says_so(
    name: str, claudes: Vault, api: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    api.script = lambda body: BAD[name] if asked_for(body) == "text" else claude(body)
    (commit,) = learned(claudes, SMALL)
    body = claudes.skill(claudes.skills()[0].name)[0].body
    assert "Claude on" not in body
    assert "## Avoid" in body
    reason = "Written by the offline judge, because Claude's text could not be used: "
    assert reason in said(claudes, commit)
    assert len(texts(api)) == 2


def test_at_last_what_has_figures_of_its_own_goes_and_the_rest_stays(
    claudes: Vault, api: Server
) -> None:
    api.script = lambda body: BAD["own-figures"] if asked_for(body) == "text" else claude(body)
    (commit,) = learned(claudes, SMALL)
    skill = claudes.skill(claudes.skills()[0].name)[0]
    assert "Claude on do" in skill.body
    assert "93 %" not in skill.description
    assert "offline judge" not in said(claudes, commit)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        (["Avoid", "Notes"], ["Core", "Rules", "Avoid", "Notes"]),
        (["Counted", "Avoid"], ["Counted", "Core", "Rules", "Avoid"]),
        (["Core", "Notes"], ["Core", "Rules", "Avoid", "Notes"]),
        (["Counted", "Origin"], ["Counted", "Core", "Rules", "Avoid", "Origin"]),
    ],
)
def test_written_sections_stand_in_their_order_between_the_counted_ones(
    plain: list[str], expected: list[str]
) -> None:
    headings = ("Core", "Rules", "Avoid")
    draft = Draft("A title", "Use before it.", tuple((name, "- Plain.") for name in plain))
    brief = SessionExcerpt(kind="pattern", domain="coding", sessions=())
    reader = SkillReader(brief, draft, headings)
    reply = SkillReply("A title", "It.", [SectionReply(name, "- Written.") for name in headings])
    assert [name for name, _ in reader.draft(reply).sections] == expected


def test_a_guides_rules_stand_as_they_were_counted_and_a_model_writes_none(
    claudes: Vault, api: Server
) -> None:
    learned(claudes, SMALL)
    (request,) = map(record, texts(api))
    assert request["sections"] == ["Do", "Avoid"]
    assert "rules and leads" not in claudes.skill("guide-perps-open-long")[0].body.casefold()


def merged(vault: Vault) -> tuple[str, str]:
    """Have five like warnings become one by `profile: seed`: its commit's message, its text."""
    Person(vault.root).rule("profile: seed")
    for number in range(5):
        learned(vault, trade(number, decision__target=f"T{number}"))
    (commit,) = [one for one in vault.log() if one.step == "merge"][-1:]
    (skill,) = [one for one in vault.skills() if one.kind == "evolved"]
    return said(vault, commit), vault.skill(skill.name)[0].body


def test_the_model_writes_an_evolved_skill_and_the_rule_its_counts(
    claudes: Vault, api: Server
) -> None:
    _, body = merged(claudes)
    assert "Claude on synthesized insight" in body
    assert "Claude on when this applies" not in body
    assert "failed or lost" in body.partition("## When This Applies")[2]


def test_a_merge_without_a_text_of_use_is_told_offline(claudes: Vault, api: Server) -> None:
    api.script = lambda body: BAD["own-figures"] if asked_for(body) == "text" else claude(body)
    message_, body = merged(claudes)
    assert "Written by the offline judge, because Claude's text could not be used: " in message_
    assert "Claude on" not in body
    assert "stopped out during the cascade" in body


def test_skills_that_say_the_same_are_asked_for_together_with_their_statements_once(
    claudes: Vault, api: Server
) -> None:
    merged(claudes)
    request = next(r for r in map(record, texts(api)) if "subjects" in r)
    assert all(subject.startswith("open_long on T") for subject in request["subjects"])
    told_texts = [one["text"] for one in request["statements"]]
    assert len(told_texts) == len(set(told_texts))


def test_a_text_is_asked_for_with_the_statements_and_their_counts(
    claudes: Vault, api: Server
) -> None:
    learned(claudes, trade(0), trade(1, -0.2))
    request = next(r for r in map(record, texts(api)) if r["kind"] == "warning")
    assert request["outcomes_in_all"] == 2
    kinds = [one["kind"] for one in request["statements"]]
    assert kinds[:2] == ["extreme", "failed"]
    (deed,) = [one for one in request["statements"] if "2 of 2 runs failed" in one["text"]]
    assert (deed["for"], deed["against"]) == (2, 0)
    assert request["sections"] == list(WARNING)
    assert "Claude on checklist" in claudes.skill("warning-perps-open-long-sol-perp")[0].body


def ruled(days: Iterable[int]) -> list[Body]:
    """Trades that lost where volatility was high and won where it was low."""
    return [
        trade(n, 0.05 * (-1) ** n, context={"volatility": ("low", "high")[n % 2]}) for n in days
    ]


def test_a_strategy_keeps_its_counts(claudes: Vault, api: Server) -> None:
    learned(claudes, *ruled(range(12)))
    (strategy,) = [one for one in claudes.skills() if one.kind == "strategy"]
    body = claudes.skill(strategy.name)[0].body
    assert "Claude on entry rules" in body
    assert "6 of 12 worked" in body
    assert "## Performance Notes" in body
    assert "Claude on performance notes" not in body


def test_a_strategy_is_asked_for_with_its_rules_and_its_tries(claudes: Vault, api: Server) -> None:
    learned(claudes, *ruled(range(12)))
    (request,) = [r for r in map(record, texts(api)) if r.get("kind") == "strategy"]
    assert [one["kind"] for one in request["statements"]] == ["rule", "tried"]
    assert request["outcomes_in_all"] == len(request["tries"]) == 12


def test_of_the_profile_seed_one_is_asked_for_with_its_text_the_facts_and_a_line_an_outcome(
    claudes: Vault, person: Person, api: Server
) -> None:
    policy = (claudes.root / "vault.yaml").read_text()
    person.write("vault.yaml", f"{policy}profile: seed\n")
    person.git("commit", "-q", "-am", "By the designs' letter", "--no-verify")
    claudes.memory.add_fact("Funding resets every eight hours.", "perps", now=NOW)
    for day in (0, 10):
        learned(claudes, *ruled(range(day, day + 10)))
    first_request, *_, request = [r for r in map(record, texts(api)) if "outcomes" in r]
    assert "current" not in first_request
    (strategy,) = [one for one in claudes.skills() if one.kind == "strategy"]
    path = f"skills/{strategy.name}/SKILL.md"
    _, first = claudes.store.git.text("log", "-2", "--format=%H", "--", path).split()
    before = claudes.store.git.text("show", f"{first}:{path}")
    assert "Claude on entry rules" in request["current"]
    assert request["current"].strip() in before
    assert "Funding resets every eight hours." in request["facts"].values()
    assert request["outcomes_in_all"] == len(request["outcomes"]) == 20
    assert all(line.count("\n") == 0 and len(line) <= 240 for line in request["outcomes"])


def test_a_text_is_asked_for_with_all_that_is_known_of_its_outcomes(
    claudes: Vault, api: Server
) -> None:
    reasoning = "Funding is 0.05 %, so I enter with 40 % of the account. " * 60
    lost = {"amount": -250, "entry_value": 1000, "unit": "USD", "evidence": "a line\n" * 500}
    made_at = "2026-11-01T06:00:00Z"
    learned(
        claudes,
        trade(
            0,
            result=lost,
            context={"funding": 0.0731, "regime": "choppy"},
            decision__reasoning=reasoning,
            decision__made_at=made_at,
        ),
        trade(1, -0.2),
        trade(2, 0.05),
    )
    request = next(r for r in map(record, texts(api)) if len(r.get("latest", ())) == 2)
    first, _ = request["latest"]
    told = first["decision"]
    assert (told["domain"], told["action"], told["target"]) == ("perps", "open_long", "SOL-PERP")
    assert told["entry_value"] == 1000
    assert told["context"] == {"funding": 0.0731, "regime": "choppy"}
    assert 1900 < len(told["reasoning"]) <= 2010
    assert first["result"]["amount"] == -250
    assert first["result"]["score_in_percent"] == "-25.0 %"
    assert "held" in first["result"]
    assert len(first["result"]["evidence"]) < 300
    assert first["judgement"].keys() >= {"insight", "better_approach", "weaknesses"}
    shown = RecordFigures(json.dumps(request, ensure_ascii=False))
    honest = "Lost 250 USD of 1,000 (25 %) at a funding of 0.0731 with 40 % of the account."
    assert find_unsupported(honest, shown) == []
    assert find_unsupported("Lost 331 USD at a funding of 0.0932.", shown) == ["331", "0.0932"]


DEPLOY = {"action": "deploy", "target": "site", "reasoning": "Let me deploy this."}


def deployed(**result: str) -> Body:
    """An outcome with a reasoning that says nothing: nobody recorded what it met."""
    return trade(result=result, context={}, decision=DEPLOY)


def test_nobody_is_asked_about_an_outcome_of_which_nothing_could_be_learned(
    claudes: Vault, api: Server
) -> None:
    learned(claudes, deployed(status="success"))
    (found,) = claudes.store.snapshot().evaluations.values()
    assert (found.key_insight, found.judge.name, found.judge.tokens) == (None, "offline", None)
    assert api.requests == []


def test_nobody_is_asked_for_a_text_that_could_say_no_more(claudes: Vault, api: Server) -> None:
    api.script = lambda body: (
        message({**INSIGHT, "key_insight": "", "better_approach": ""})
        if asked_for(body) == "insight"
        else claude(body)
    )
    error = "OSError: no space left on device"
    twice = [deployed(status="failure", evidence=error) | {"event_id": name} for name in "ab"]
    (commit,) = learned(claudes, *twice)
    (skill,) = claudes.skills()
    assert error in claudes.skill(skill.name)[0].body
    assert texts(api) == []
    assert "offline judge" not in said(claudes, commit)
