"""The same outcomes end in the same served statements, whatever the way they arrived in.

Each rule proves it on values; here are two whole streams, and all the others in `make thorough`.
"""

import gc
import json
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.api import Vault
from tests.conftest import unguarded
from tests.given import START, raw, trade
from tests.golden import STORIES
from tests.golden.stage import Stage
from tests.loop.test_actions import hurried
from tests.streams import WAYS, Raw, batches, learned, served
from tests.thorough import THOROUGH, only_thorough

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MANY = 20  # outcomes, more than which do not arrive one at a time here
LATE = datetime(2026, 12, 20, 12, tzinfo=UTC)  # after every story
OTHER_WAYS = WAYS[1:]
ALIKE = "The cache is warm, so I ship it at once because the dashboards look green."
DEPLOYS = (
    "Error: connection to the database refused",
    "Error: config map payments missing",
    "timeout: health check failed after migration",
    "permission denied: cannot push the image to the registry",
)
REASONINGS = (
    "I raise the timeout because the machine is slow.",
    "I assume the cache is warm and ship without checking it.",
    "I read the trace first and found that the clock of the runner drifts.",
    "Let me look at the log. Let me see the trace. Now I will restart the worker.",
    "A retry is enough, the quota is large.",
)


@pytest.fixture(scope="session")
def empty(_session_closed_off: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty vault; every stream arrives in a copy of it."""
    root = tmp_path_factory.mktemp("empty") / "vault"
    Vault.init(root, ["coding", "perps"], now=START)
    gc.collect()  # a vault that nobody uses any more still holds its index open
    return root


def in_a_way(
    empty: Path, place: Path, stream: list[Raw], way: str, *, seed: int = 0, now: datetime = NOW
) -> Vault:
    """Copy the empty vault, let a stream arrive in a way, and return the vault."""
    return learned(Vault(unguarded(empty, place)), batches(stream, way, seed), now)


def alike() -> list[Raw]:
    """Thirty decisions with one reasoning, three of them won."""
    won = {-16, -7, 4}
    return [
        raw(day, decision__reasoning=ALIKE, event_id=f"alike-{day}",
            source__session=f"s{day}",
            result={"status": "success" if day in won else "failure"})
        for day in range(-20, 10)
    ]  # fmt: skip


def deploys() -> list[Raw]:
    """Four failures of one subject, a day each, of four causes."""
    return [
        raw(day, decision__action="deploy", decision__target="shop", event_id=f"deploy-{day}",
            decision__reasoning=f"I deploy the release now, change set {day}.",
            result={"status": "failure", "evidence": text})
        for day, text in enumerate(DEPLOYS)
    ]  # fmt: skip


def losses() -> list[Raw]:
    """Losses of one cause on four targets, and gains between them."""
    targets = ("SOL-PERP", "ARB-PERP", "DOGE-PERP", "WIF-PERP")
    return [
        trade(day, -0.11 - day / 100 if day % 3 else 0.25, decision__target=targets[day % 4])
        for day in range(16)
    ]


def shortcuts() -> list[Raw]:
    """Make failures of four actions that all took the same shortcut."""
    parts = ("api", "table", "page", "job")
    return [
        raw(day, decision__action=f"change-{part}", event_id=f"shortcut-{day}",
            decision__reasoning="I push to main without a review.",
            result={"status": "failure", "evidence": text})
        for day, (part, text) in enumerate(zip(parts, DEPLOYS, strict=True))
    ]  # fmt: skip


STREAMS: dict[str, Callable[[], list[Raw]]] = {
    "alike": alike,
    "deploys": deploys,
    "losses": losses,
    "shortcuts": shortcuts,
    "separated": lambda: list(hurried(40)),
}


def drawn(seed: int, count: int) -> list[Raw]:
    """Draw outcomes at random, the same ones for a seed."""
    chance = random.Random(seed)
    return [_drawn(number, chance) for number in range(count)]


def _drawn(number: int, chance: random.Random) -> Raw:
    graded = chance.random() < 0.4
    fields = {
        "event_id": f"drawn-{number}",
        "decision__target": chance.choice(("one", "two", "three", "four", None)),
        "decision__action": chance.choice(("fix", "deploy")),
        "decision__reasoning": chance.choice(REASONINGS),
        "source__session": f"s{chance.randrange(6)}",
    }
    if graded:
        return trade(number, round(chance.gauss(0, 0.2), 3), **fields)
    status = chance.choice(("success", "failure", "failure"))
    evidence = {"evidence": chance.choice(DEPLOYS)} if status == "failure" else {}
    return raw(number, result={"status": status, **evidence}, **fields)


def everything() -> list[Raw]:
    """Return outcomes that make skills of every kind that is learned."""
    return [
        *deploys(),
        *drawn(1252, 10),
        *({**one, "event_id": f"more-{number}"} for number, one in enumerate(drawn(2236161, 7))),
        *losses(),
        *hurried(20),
        *shortcuts(),
    ]


@pytest.fixture(scope="module")
def at_once(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Everything that is served of outcomes that arrived at once."""
    place = tmp_path_factory.mktemp("bulk") / "vault"
    return served(in_a_way(empty, place, everything(), "bulk").root)


@pytest.mark.parametrize("way", ["one at a time", "random order"])
def test_skills_of_every_kind_end_in_what_they_are_at_once(
    tmp_path: Path, empty: Path, at_once: dict[str, list[str]], way: str
) -> None:
    vault = in_a_way(empty, tmp_path / "way", everything(), way, seed=15)
    assert served(vault.root) == at_once
    kinds = {about.partition(":")[0] for about in at_once}
    assert kinds == {"guide", "warning", "pattern", "evolved", "strategy"}
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


@only_thorough
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("way", OTHER_WAYS)
def test_a_stream_ends_in_what_it_ends_in_at_once(
    tmp_path: Path, empty: Path, name: str, way: str
) -> None:
    stream = STREAMS[name]()
    at_once = served(in_a_way(empty, tmp_path / "bulk", stream, "bulk").root)
    vault = in_a_way(empty, tmp_path / "way", stream, way, seed=7)
    assert served(vault.root) == at_once
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


def test_thirty_alike_of_which_three_won_make_no_pattern(tmp_path: Path, empty: Path) -> None:
    said = served(in_a_way(empty, tmp_path / "v", alike(), "bulk").root)
    assert not [about for about in said if about.startswith("pattern")]
    guide = said["guide: coding / fix-flaky-test"]
    assert any("27 of 30 runs failed" in line for line in guide)
    assert not any("worked" in line for line in guide if "runs" in line)


def test_four_causes_stand_in_one_guide(tmp_path: Path, empty: Path) -> None:
    said = served(in_a_way(empty, tmp_path / "v", deploys(), "bulk").root)
    guide = said["guide: coding / deploy"]
    assert all(any(cause in line for line in guide) for cause in DEPLOYS)


@pytest.mark.parametrize("way", OTHER_WAYS if THOROUGH else ["random order"])
def test_the_agent_runs_end_in_the_same_skills(
    tmp_path: Path, empty: Path, shared: Path, way: str
) -> None:
    lines = (shared / "data/agent-runs/by-run.jsonl").read_text().splitlines()
    stream = [json.loads(line) for line in lines]
    at_once = served(in_a_way(empty, tmp_path / "bulk", stream, "bulk").root)
    assert served(in_a_way(empty, tmp_path / "way", stream, way, seed=3).root) == at_once
    guide = at_once["guide: office / financial-modeling-qa"]
    refused = "24 (5 runs), -19 (1 run)"
    assert any(line.startswith("Refused as the answer") and refused in line for line in guide)


@only_thorough
@pytest.mark.parametrize(("number", "story"), list(enumerate(STORIES)))
def test_the_outcomes_of_a_story_end_in_the_same_skills(
    tmp_path: Path, empty: Path, stage: Stage, number: int, story: str
) -> None:
    stream = list(_recorded(stage.outcomes(story)))
    at_once = served(in_a_way(empty, tmp_path / "bulk", stream, "bulk", now=LATE).root)
    ways = OTHER_WAYS if len(stream) < MANY else OTHER_WAYS[1:]
    way = ways[number % len(ways)]
    vault = in_a_way(empty, tmp_path / "way", stream, way, seed=number, now=LATE)
    assert served(vault.root) == at_once


def _recorded(texts: Iterable[str]) -> Iterator[Raw]:
    """The outcomes of a vault, as they may arrive in another one."""
    for text in texts:
        record = yaml.safe_load(text)
        del record["received"]
        record["source"].pop("trust", None)
        yield record


@only_thorough
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_stream_ends_in_the_same_skills(
    tmp_path_factory: pytest.TempPathFactory, empty: Path, data: st.DataObject
) -> None:
    place = tmp_path_factory.mktemp("drawn")
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    stream = [_drawn(number, chance) for number in range(data.draw(st.integers(3, 10)))]
    at_once = served(in_a_way(empty, place / "bulk", stream, "bulk").root)
    for way in OTHER_WAYS:
        vault = in_a_way(
            empty, place / way.replace(" ", "-"), stream, way, seed=chance.randrange(99)
        )
        assert served(vault.root) == at_once


def test_what_several_actions_say_is_the_same_in_any_order(empty: Path, tmp_path: Path) -> None:
    stream = [*shortcuts(), *drawn(1252, 10)]
    at_once = served(in_a_way(empty, tmp_path / "bulk", stream, "bulk").root)
    vault = in_a_way(empty, tmp_path / "way", stream, "random order", seed=15)
    assert served(vault.root) == at_once
    assert "evolved: coding" in at_once


def test_a_skill_leaves_when_its_facts_do_not_say_the_same_any_more(
    empty: Path, tmp_path: Path
) -> None:
    stream = drawn(2236161, 7)
    at_once = served(in_a_way(empty, tmp_path / "bulk", stream, "bulk").root)
    vault = in_a_way(empty, tmp_path / "way", stream, "random order", seed=72)
    assert (vault.root / "archive/warning-perps-deploy-volatility-trend").is_dir()
    assert served(vault.root) == at_once
