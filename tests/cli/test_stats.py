"""stats: whether skills help, in words, as data and as a picture."""

import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import UsageError
from tests.cli.test_recommend import call
from tests.conftest import Person
from tests.used import use_skills

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def used(vault: Vault, person: Person) -> Vault:
    return use_skills(vault, person)


def test_a_skill_is_told_with_its_numbers_and_the_decision_they_lead_to(used: Vault) -> None:
    said, _ = call(used, "stats", "good")
    assert said.startswith("good (manual): proven at the next run\n")
    assert "applied 30 times: 28 succeeded (93%), 2 failed" in said
    assert "the chance that it helps is 1.000 (effect +0." in said
    assert "30 got it, 0 did without" in said


def test_of_a_skill_that_no_receipt_names_selection_is_unknown(used: Vault) -> None:
    assert "0 got it, 0 did without: nothing says" in call(used, "stats", "bad")[0]
    assert "selection" not in call(used, "stats", "good")[0]


def test_a_skill_is_shown_with_what_its_use_showed(used: Vault) -> None:
    said, beside = call(used, "skill", "show", "good")
    assert said.startswith("---\nname: good\n")
    assert "proven at the next run (`skillvault stats good`)" in beside
    assert json.loads(call(used, "skill", "show", "good", "--json")[0])["stats"]["lift"] > 0
    assert call(used, "skill", "show", "idle")[1] == ""


def test_a_skill_that_nobody_used_is_told_as_such(used: Vault) -> None:
    assert "not used yet" in call(used, "stats", "idle")[0]


def test_an_unknown_skill_is_a_mistake(used: Vault) -> None:
    with pytest.raises(UsageError, match="ghost: no such skill; `skillvault skill list"):
        call(used, "stats", "ghost")


def test_all_skills_stand_from_the_best_to_the_worst(used: Vault) -> None:
    found = json.loads(call(used, "stats", "--json")[0])
    assert [one["skill"] for one in found] == ["good", "bad"]
    assert found[0]["lift"] > 0 > found[1]["lift"]
    assert found[0]["interval"][0] < found[0]["lift"] < found[0]["interval"][1]
    assert (found[0]["verdict"], found[1]["verdict"]) == ("helps", "hurts")


def test_one_skill_is_one_object(used: Vault) -> None:
    found = json.loads(call(used, "stats", "bad", "--json")[0])
    assert (found["skill"], found["times_applied"]) == ("bad", 30)
    assert set(found) >= {"ema", "wilson", "error", "p_helps", "held_out", "earlier", "decision"}


def test_the_picture_has_a_line_a_skill_worst_first(used: Vault, tmp_path: Path) -> None:
    place = tmp_path / "lift.svg"
    call(used, "stats", "--plot", str(place))
    picture = fromstring(place.read_bytes())  # noqa: S314 (our own)
    titles = [one.text or "" for one in picture.iter(f"{SVG}title")]
    assert titles[0] == "What skills change: all domains"
    assert [title.partition(":")[0] for title in titles[1:]] == ["bad", "good"]
    texts = [one.text for one in picture.iter(f"{SVG}text")]
    assert {"seems to help", "open", "seems to hurt", "good", "bad"} <= {
        *texts
    }  # a legend, and the names


def test_a_picture_of_nothing_says_so_and_is_not_made(vault: Vault, tmp_path: Path) -> None:
    place = tmp_path / "lift.svg"
    args = ["--vault", str(vault.root), "stats", "--plot", str(place)]
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == 1
    assert result.stderr.startswith("nothing to draw: no skill of all domains was compared")
    assert not place.exists()


def test_a_picture_is_an_svg(used: Vault, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"the picture is an SVG; choose a name that ends in \.svg"
    ):
        call(used, "stats", "--plot", str(tmp_path / "lift.png"))


def test_a_picture_that_cannot_be_written_is_one_sentence(used: Vault, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="choose a file that you may write"):
        call(used, "stats", "--plot", str(tmp_path / "none" / "lift.svg"))


def test_a_decision_is_asked_alone(used: Vault) -> None:
    with pytest.raises(UsageError, match="--decision ID asks about one decision"):
        call(used, "stats", "good", "--decision", "d-1")
