"""Claude writes skills; what is of no use is repaired once, then the offline text stands."""

import pytest

from skillvault.api import Vault
from skillvault.records import Commit
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

Spoil = dict[str, object]


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


@pytest.mark.parametrize("name", BAD)
def test_then_the_offline_text_stands_and_its_commit_says_so(
    name: str, claudes: Vault, api: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    api.script = lambda body: BAD[name] if asked_for(body) == "text" else claude(body)
    (commit,) = learned(claudes, trade())
    body = claudes.skill(claudes.skills()[0].name)[0].body
    assert "Claude on" not in body
    assert "## Pattern to Recognize" in body
    assert "Written by the offline judge, as Claude's text was of no use: " in said(claudes, commit)
    assert len(texts(api)) == 2


def alike(number: int) -> Body:
    """A loss like the others."""
    return trade(number, decision__target=f"T{number}")


def merged(vault: Vault, api: Server) -> str:
    """Have three skills become one; the message of that commit."""
    learned(vault, *(alike(number) for number in range(3)))
    (commit,) = [one for one in vault.log() if one.step == "merge"]
    return said(vault, commit)


def forgetful(body: Body) -> Answer:
    """A model that leaves out what became of the first statement of a merge."""
    if asked_for(body) != "text" or "statements" not in record(body):
        return claude(body)
    text = written(record(body))
    return message({**text, "fates": text["fates"][1:]})


def test_a_merge_accounts_for_every_statement(claudes: Vault, api: Server) -> None:
    assert "Statements: 12 kept." in merged(claudes, api)


def test_a_merge_that_loses_a_statement_is_repaired_or_told_offline(
    claudes: Vault, api: Server
) -> None:
    api.script = forgetful
    message_ = merged(claudes, api)
    assert "Written by the offline judge" in message_
    assert "nothing is said of 1 of" in message_
    (evolved,) = [one for one in claudes.skills() if one.kind == "evolved"]
    body = claudes.skill(evolved.name)[0].body
    assert "Claude on synthesized insight" not in body
    assert "Claude on checklist" in body  # a statement of the sources


def test_a_statement_that_is_kept_must_stand_in_the_text(claudes: Vault, api: Server) -> None:
    def liar(body: Body) -> Answer:
        if asked_for(body) != "text" or "statements" not in record(body):
            return claude(body)
        sections = [{"heading": "Key Principles", "text": "- Heed the funding."}]
        return message({**written(record(body)), "sections": sections})

    api.script = liar
    assert "not to be found in the text" in merged(claudes, api)


def test_a_strategy_keeps_its_counts(claudes: Vault, api: Server) -> None:
    learned(claudes, *(trade(n, 0.05 * (-1) ** n) for n in range(12)))
    (strategy,) = [one for one in claudes.skills() if one.kind == "strategy"]
    body = claudes.skill(strategy.name)[0].body
    assert "Claude on entry rules" in body
    assert "Win rate 50 % (6 of 12)" in body
    assert "## Performance Notes" in body
    assert "Claude on performance notes" not in body
