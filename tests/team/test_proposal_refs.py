"""Branches of proposals: pushed for a pull request, edited there, removed when they are merged."""

from pathlib import Path

import pytest

from skillvault.api import proposal_branches, proposals
from skillvault.review.branches import BranchReport
from skillvault.team.proposal_refs import request_url
from tests.clones import LATER, Clone, Team

BRANCHES = ["for-each-ref", "--format=%(refname:short)", "refs/heads/proposal"]


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (
            "git@github.com:ada/vault.git",
            "https://github.com/ada/vault/compare/main...proposal%2Fa?expand=1",
        ),
        (
            "https://ada:secret@github.example.org/ada/vault",
            "https://github.example.org/ada/vault/compare/main...proposal%2Fa?expand=1",
        ),
        (
            "ssh://git@ssh.github.com:443/ada/vault.git",
            "https://github.com/ada/vault/compare/main...proposal%2Fa?expand=1",
        ),
        (
            "ssh://git@gitlab.com:2222/team/sub/vault.git/",
            (
                "https://gitlab.com/team/sub/vault/-/merge_requests/new?merge_request%5Bsource_branch"
                "%5D=proposal%2Fa&merge_request%5Btarget_branch%5D=main"
            ),
        ),
        (
            "codeberg.org:ada/vault",
            "https://codeberg.org/ada/vault/compare/main...proposal%2Fa",
        ),
        (
            "https://bitbucket.org/ada/vault.git",
            "https://bitbucket.org/ada/vault/pull-requests/new?source=proposal%2Fa&t=1",
        ),
        (
            "http://gitea.example.org:3000/ada/vault.git",
            "http://gitea.example.org:3000/ada/vault/compare/main...proposal%2Fa",
        ),
        ("https://git.example.org/ada/vault.git", None),
        ("/srv/git/vault.git", None),
        ("../github.com", None),
        ("file:///srv/github.com/vault.git", None),
    ],
)
def test_the_address_of_a_remote_names_the_page_that_opens_a_pull_request(
    address: str, url: str | None
) -> None:
    assert request_url(address, "proposal/a", "main") == url


@pytest.fixture(scope="module")
def pattern(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clones in which two skills wait."""
    place = tmp_path_factory.mktemp("waiting") / "team"
    team = Team.made(_new_vault, place, ["ada", "ben"])
    ada = team.clones[0]
    ada.person.write("vault.yaml", ada.text("vault.yaml") + "generate: {gate: always}\n")
    ada.person.git("commit", "-qam", "a gate")
    ada.record(range(4))
    ada.run()
    team.sync()
    return place


@pytest.fixture
def team(pattern: Path, tmp_path: Path) -> Team:
    """A copy of the two clones."""
    return Team.copied(pattern, tmp_path / "team")


def pushed(clone: Clone) -> BranchReport:
    return proposal_branches(clone.vault, push=True, now=LATER)


def branches(team: Team) -> list[str]:
    """The branches of proposals in the remote and in each clone."""
    people = [clone.person for clone in team.clones]
    there = people[0].git("ls-remote", "--heads", "origin", "refs/heads/proposal/*").split()[1::2]
    here = [ref for person in people for ref in person.git(*BRANCHES).split()]
    return [*there, *here]


def test_an_edit_of_a_reviewer_is_taken_and_a_merged_branch_goes_everywhere(team: Team) -> None:
    ada, ben = team.clones
    first = pushed(ada).branches[0]
    assert first.url is None  # a folder is no forge
    waiting = len(proposals(ada.vault))
    assert len(branches(team)) == 2 * waiting
    assert not any(row.made for row in pushed(ben).branches)
    ben.person.git("switch", "-q", first.branch)
    ben.edit(f"skills/{first.name}/SKILL.md", ("\n## ", "\nAsk Eve first.\n\n## "))
    ben.person.git("push", "-q", "origin", first.branch)
    ben.person.git("switch", "-q", "main")
    assert pushed(ada).branches[0].commit == ben.person.git("rev-parse", first.branch)
    ben.person.git("merge", "-q", "--no-ff", "--no-edit", first.branch)
    assert ben.sync().branches.removed == [first.branch]
    assert ada.sync().branches.removed == [first.branch]
    assert len(branches(team)) == 3 * (waiting - 1)
    assert "Ask Eve first." in ada.text(f"skills/{first.name}/SKILL.md")
    assert ada.vault.check().problems == []


@pytest.mark.parametrize("way", ["squash", "approve", "reject"])
def test_a_branch_goes_however_its_proposal_was_decided(team: Team, way: str) -> None:
    ada = team.clones[0]
    row = pushed(ada).branches[0]
    if way == "squash":
        ada.person.git("merge", "-q", "--squash", row.branch)
        ada.person.git("commit", "-qm", "Squashed")
    elif way == "approve":
        ada.vault.curate.approve(row.name, now=LATER)
    else:
        ada.vault.curate.reject(row.name, reason="wrong", now=LATER)
    assert ada.sync().branches.removed == [row.branch]


def test_a_branch_with_edits_that_nobody_merged_stays(team: Team) -> None:
    ada = team.clones[0]
    row = pushed(ada).branches[0]
    ada.person.git("switch", "-q", row.branch)
    ada.edit(f"skills/{row.name}/SKILL.md", ("\n## ", "\nAsk Eve first.\n\n## "))
    ada.person.git("switch", "-q", "main")
    ada.vault.curate.reject(row.name, reason="wrong", now=LATER)
    ada.person.git("branch", "proposal/of-a-person")
    assert ada.sync().branches.removed == []


def test_a_branch_that_a_person_has_only_begun_stays(team: Team) -> None:
    ada = team.clones[0]
    row = pushed(ada).branches[0]
    ada.vault.curate.approve(row.name, now=LATER)
    ada.person.git("branch", "proposal/of-a-person")
    assert ada.sync().branches.removed == [row.branch]


def test_the_commit_of_a_proposal_reads_as_a_pull_request(team: Team) -> None:
    ada = team.clones[0]
    (waiting, *_), (row, *_) = proposals(ada.vault), pushed(ada).branches
    text = ada.person.git("log", "-1", "--format=%B", row.branch)
    assert f"> {waiting.body.splitlines()[0]}" in text
    assert "| outcome | status | session | occasion |\n| --- |" in text
    assert not any(line.startswith("#") for line in text.splitlines())
    trailers = ada.person.git("log", "-1", "--format=%(trailers:key=Skillvault-Target)", row.branch)
    assert trailers.split() == ["Skillvault-Target:", f"skill:{row.name}"]
