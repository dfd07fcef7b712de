"""Claude writes skills; what is of no use is repaired once, then the offline text stands."""

import json

import pytest

from skillvault.api import Vault
from skillvault.judge.claude.figures import Shown, unsupported
from skillvault.model.records import Commit
from tests.conftest import NOW
from tests.given import as_file, trade
from tests.judge.server import (
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


def spoiled(**spoil: object) -> Answer:
    """A text with something wrong in it."""
    good = written({"sections": ["Better Approach"]})
    return message({**good, **spoil})


BAD = {
    "empty": message(""),
    "refused": message("", "refusal"),
    "cut-off": message('{"title": "Chasing', "max_tokens"),
    "off-schema": message({"title": "Chasing"}),
    "no-sections": spoiled(sections=[]),
    "foreign-section": spoiled(sections=[{"heading": "Origin", "text": "- made up"}]),
    "no-text": spoiled(sections=[{"heading": "Checklist", "text": "## \n---\n"}]),
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
    (commit,) = learned(claudes, trade())
    assert "Claude on better approach" in claudes.skill(claudes.skills()[0].name)[0].body
    assert "Your last reply was of no use. " in told(texts(api)[1])
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
    learned(claudes, trade())
    assert claudes.skill(claudes.skills()[0].name)[0].description == kept


@pytest.mark.parametrize("name", [name for name in BAD if name != "own-figures"])
def test_then_the_offline_text_stands_and_its_commit_says_so(
    name: str, claudes: Vault, api: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    api.script = lambda body: BAD[name] if asked_for(body) == "text" else claude(body)
    (commit,) = learned(claudes, trade())
    body = claudes.skill(claudes.skills()[0].name)[0].body
    assert "Claude on" not in body
    assert "## What Went Wrong" in body
    assert "Written by the offline judge, as Claude's text was of no use: " in said(claudes, commit)
    assert len(texts(api)) == 2


def test_at_last_what_has_figures_of_its_own_goes_and_the_rest_stays(
    claudes: Vault, api: Server
) -> None:
    api.script = lambda body: BAD["own-figures"] if asked_for(body) == "text" else claude(body)
    (commit,) = learned(claudes, trade())
    skill = claudes.skill(claudes.skills()[0].name)[0]
    assert "Claude on better approach" in skill.body
    assert "93 %" not in skill.description
    assert "offline judge" not in said(claudes, commit)


def alike(number: int) -> Body:
    """A loss like the others."""
    return trade(number, decision__target=f"T{number}")


def merged(vault: Vault, api: Server) -> str:
    """Have three skills become one; the message of that commit."""
    learned(vault, *(alike(number) for number in range(3)))
    (commit,) = [one for one in vault.log() if one.step == "merge"]
    return said(vault, commit)


def evolved(vault: Vault) -> tuple[str, str]:
    """(the text of the vault's evolved skill, what its file of sources says)."""
    (skill,) = [one for one in vault.skills() if one.kind == "evolved"]
    sources = vault.root / "skills" / skill.name / "references" / "sources.md"
    return vault.skill(skill.name)[0].body, sources.read_text(encoding="utf-8")


def test_a_merge_says_by_rule_what_became_of_every_statement(claudes: Vault, api: Server) -> None:
    message_ = merged(claudes, api)
    body, sources = evolved(claudes)
    assert "Claude on synthesized insight" in body
    assert "cascade" not in body.partition("## Evidence")[0]  # left out by the model
    for number in range(3):
        about = f"open_long on T{number}"
        line = "kept error: “stopped out during the cascade”"
        assert f"{about}: {line}" in message_
        assert f"## {about}\n\n" in sources
    assert sources.count("- kept     error: “stopped out during the cascade”") == 3


def test_the_model_writes_an_evolved_skill_and_the_rule_its_evidence(
    claudes: Vault, api: Server
) -> None:
    merged(claudes, api)
    body, _ = evolved(claudes)
    assert "Claude on when this applies" not in body
    evidence = body.partition("## When This Applies")[2]
    assert "3 of 3 failed or lost" in evidence


def test_a_merge_without_a_text_of_use_is_told_offline(claudes: Vault, api: Server) -> None:
    api.script = lambda body: BAD["own-figures"] if asked_for(body) == "text" else claude(body)
    assert "Written by the offline judge, as Claude's text was of no use: " in merged(claudes, api)
    body, _ = evolved(claudes)
    assert "Claude on" not in body
    assert ": stopped out during the cascade (as all of these)." in body


def test_a_text_is_asked_for_with_the_statements_and_their_counts(
    claudes: Vault, api: Server
) -> None:
    learned(claudes, trade(0), trade(1, -0.2))
    request = record(texts(api)[-1])
    assert (request["kind"], request["outcomes_in_all"]) == ("warning", 2)
    assert {"greatest": "-20.0 %"} in request["statements"]
    (cause,) = [one for one in request["statements"] if one.get("kind") == "error"]
    assert (cause["quote"], cause["shown_by"], cause["said_too_by"]) == (
        "stopped out during the cascade", "failures: 2 of 2", "successes: 0",
    )  # fmt: skip
    assert request["sections"] == list(WARNING)
    assert "Claude on checklist" in claudes.skill(claudes.skills()[0].name)[0].body


def test_subjects_that_say_the_same_are_asked_for_together_with_their_statements_once(
    claudes: Vault, api: Server
) -> None:
    merged(claudes, api)
    (request,) = [record(body) for body in texts(api) if "subjects" in record(body)]
    assert request["subjects"] == [f"open_long on T{number}" for number in range(3)]
    quotes = [one["quote"] for one in request["statements"] if "quote" in one]
    assert quotes == [
        "stopped out during the cascade",
        "Funding is high at 0.08 % and volatility is high; I chase it.",
    ]
    assert "fates" not in json.dumps(texts(api))


def test_a_strategy_keeps_its_counts(claudes: Vault, api: Server) -> None:
    learned(claudes, *(trade(n, 0.05 * (-1) ** n) for n in range(12)))
    (strategy,) = [one for one in claudes.skills() if one.kind == "strategy"]
    body = claudes.skill(strategy.name)[0].body
    assert "Claude on entry rules" in body
    assert "Win rate 50 % (5 of 10)" in body
    assert "## Performance Notes" in body
    assert "Claude on performance notes" not in body


def test_a_strategy_is_asked_for_with_its_text_the_facts_and_a_line_an_outcome(
    claudes: Vault, api: Server
) -> None:
    claudes.memory.add_fact("Funding resets every eight hours.", "perps", now=NOW)
    for first in (0, 12):
        learned(claudes, *(trade(n, 0.05 * (-1) ** n) for n in range(first, first + 12)))
    first_request, *_, request = [r for r in map(record, texts(api)) if "outcomes" in r]
    assert "current" not in first_request
    (strategy,) = [one for one in claudes.skills() if one.kind == "strategy"]
    before = claudes.store.git.text("show", f"HEAD~1:skills/{strategy.name}/SKILL.md")
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
    request = next(r for r in map(record, texts(api)) if "latest" in r and len(r["latest"]) == 2)
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
    assert [line.partition(":")[0] for line in request["others"]] == [
        "2026-11-03 open_long on SOL-PERP"
    ]
    shown = Shown(json.dumps(request, ensure_ascii=False))
    honest = "Lost 250 USD of 1,000 (25 %) at a funding of 0.0731 with 40 % of the account."
    assert unsupported(honest, shown) == []
    assert unsupported("Lost 331 USD at a funding of 0.0932.", shown) == ["331", "0.0932"]


DEPLOY = {"action": "deploy", "target": "site", "reasoning": "Let me deploy this."}


def deployed(**result: str) -> Body:
    """An outcome with a reasoning that says nothing: nobody recorded what it met."""
    return trade(result=result, context={}, decision=DEPLOY)


def test_nobody_is_asked_about_an_outcome_of_which_nothing_could_be_learned(
    claudes: Vault, api: Server
) -> None:
    learned(claudes, deployed(status="success"))
    (found,) = claudes.store.head().evaluations.values()
    assert (found.key_insight, found.judge.name, found.judge.tokens) == (None, "offline", None)
    assert api.requests == []


def test_nobody_is_asked_for_a_text_that_could_say_no_more(claudes: Vault, api: Server) -> None:
    error = "OSError: no space left on device"
    (commit,) = learned(claudes, deployed(status="failure", evidence=error))
    (skill,) = claudes.skills()
    assert error in claudes.skill(skill.name)[0].body
    assert texts(api) == []
    assert "offline judge" not in said(claudes, commit)
