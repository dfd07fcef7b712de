"""Roles: who may approve and who may only record, by signed commits and the keys at a base."""

import subprocess
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import UsageError
from skillvault.team.roles import find_forbidden_commits
from tests.conftest import NOW, Person, learn_warning

ROLES = "roles:\n  approve: [ada@example.org]\n  record: [kim@example.org]"
SKILL = "skills/by-hand/SKILL.md"
RULES = ("---\nOne rule.\n---\n", "---\nOther rule.\n---\n")
TEXT = "---\nname: by-hand\ndescription: Say what was tried.\n---\nSay it.\n"


class Signers:
    """The keys of persons, and a vault in which they take turns at one git."""

    def __init__(self, vault: Vault, keys: Path) -> None:
        self.vault = vault
        self.person = Person(vault.root)
        self.keys = keys
        for name in ("ada", "kim", "eve"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)]
            subprocess.run(command, check=True)
        self.person.git("config", "gpg.format", "ssh")
        self.become("ada")
        lines = [f"{name}@example.org {self.public_key(name)}" for name in ("ada", "kim")]
        self.commit("vault.yaml", f"{self.text('vault.yaml')}{ROLES}\n")
        self.base = self.commit("allowed_signers", "".join(lines))

    def public_key(self, name: str) -> str:
        return (self.keys / f"{name}.pub").read_text()

    def text(self, path: str) -> str:
        return (self.vault.root / path).read_text()

    def become(self, name: str | None) -> None:
        """Let this person commit from now on; None signs nothing."""
        self.person.git("config", "commit.gpgSign", str(name is not None).lower())
        if name:
            self.person.git("config", "user.signingKey", str(self.keys / f"{name}.pub"))

    def commit(self, path: str, text: str) -> str:
        self.person.write(path, text)
        self.person.git("add", path)
        self.person.git("commit", "-qnm", f"Edit {path}")
        return self.person.git("rev-parse", "HEAD")

    def branch(self, name: str, commit: str) -> None:
        """Go on from a commit, on a branch of this name."""
        self.person.git("switch", "-qC", name, commit)

    def merge(self, branch: str, *options: str) -> None:
        self.person.git("merge", "-q", "--no-ff", "--no-edit", *options, branch)

    def faults(self, base: str | None = None) -> dict[str, str]:
        """The messages about commits since a base, by their codes."""
        problems = find_forbidden_commits(self.vault.store.git, base or self.base)
        return {problem.code: problem.message for problem in problems}

    def codes(self, base: str | None = None) -> list[str]:
        return sorted(self.faults(base))


@pytest.fixture
def signers(vault: Vault, tmp_path: Path) -> Signers:
    """A vault in which ada approves, kim records and eve is nobody."""
    keys = tmp_path / "keys"
    keys.mkdir()
    return Signers(vault, keys)


def test_an_approval_of_an_approver_passes_and_that_of_a_recorder_is_refused(
    signers: Signers,
) -> None:
    proposal = signers.commit(
        "proposed/by-hand/SKILL.md", TEXT.replace("---\nS", "status: proposed\n---\nS")
    )
    signers.vault.curate.approve("by-hand", now=NOW)
    assert signers.codes() == []
    signers.person.git("reset", "-q", "--hard", proposal)
    signers.become("kim")
    signers.vault.curate.approve("by-hand", now=NOW)
    assert signers.codes() == ["not-approver"]
    message = signers.faults()["not-approver"]
    assert "'approve: by-hand'" in message
    assert "kim@example.org may only record; ask ada@example.org" in message


def test_what_a_recorder_records_passes(signers: Signers) -> None:
    signers.person.rule("learner: somebody-else")
    signers.become("kim")
    learn_warning(signers.vault)
    signers.commit("LEARNINGS.md", RULES[0])
    assert signers.codes() == []


@pytest.mark.parametrize(
    "path", ["allowed_signers", "vault.yaml", ".github/workflows/a.yml", SKILL]
)
def test_a_recorder_changes_no_key_no_role_no_workflow_and_no_skill(
    signers: Signers, path: str
) -> None:
    signers.become("kim")
    text = {
        "allowed_signers": f"ada@example.org {signers.public_key('kim')}",
        "vault.yaml": signers.text("vault.yaml").replace("approve: [ada", "approve: [kim"),
    }
    signers.commit(path, text.get(path, TEXT))
    # By the table of this commit, kim would approve.
    assert path in signers.faults()["not-approver"]


def test_an_unsigned_commit_and_an_unknown_key_are_refused(signers: Signers) -> None:
    signers.become(None)
    signers.commit("LEARNINGS.md", RULES[0])
    signers.become("eve")
    signers.commit("LEARNINGS.md", RULES[1])
    assert signers.codes() == ["unknown-key", "unsigned"]
    assert all("may do nothing by it" in message for message in signers.faults().values())


def test_a_key_counts_once_it_is_at_the_base(signers: Signers) -> None:
    text = signers.text("vault.yaml").replace("[kim", "[eve@example.org, kim")
    signers.commit("vault.yaml", text)
    keys = signers.text("allowed_signers")
    added = signers.commit("allowed_signers", f"{keys}eve@example.org {signers.public_key('eve')}")
    signers.become("eve")
    signers.commit("LEARNINGS.md", RULES[0])
    assert signers.codes() == ["unknown-key"]
    assert signers.codes(added) == []


def test_a_merge_hides_no_commit(signers: Signers) -> None:
    signers.become("kim")
    signers.branch("side", signers.base)
    signers.commit(SKILL, TEXT)
    signers.become("ada")
    signers.branch("main", signers.commit("LEARNINGS.md", RULES[0]))
    signers.merge("side")
    assert signers.codes() == ["not-approver"]


def test_a_forge_merges_unsigned_and_decides_nothing(signers: Signers) -> None:
    newer_keys = f"ada@example.org {signers.public_key('ada')}"
    signers.branch("newer", signers.base)
    newer = signers.commit("allowed_signers", newer_keys)
    signers.branch("side", signers.base)
    signers.commit("LEARNINGS.md", RULES[0])
    signers.become(None)
    signers.merge("newer")
    assert signers.text("allowed_signers") == newer_keys
    assert "unsigned" not in signers.codes()
    signers.branch("side", "HEAD^")
    signers.merge("newer", "-s", "ours")  # the older keys again
    assert signers.codes() == ["unsigned"]
    assert signers.codes(newer) == ["unsigned"]


def test_without_a_table_nothing_is_asked(vault: Vault) -> None:
    person = Person(vault.root)
    base = person.git("rev-parse", "HEAD")
    person.write(SKILL, TEXT)
    person.git("add", "-A")
    person.git("commit", "-qnm", "By hand")
    assert vault.check(against=base).problems == []
    with pytest.raises(UsageError, match="no such commit"):
        vault.check(against="nowhere")


def test_a_person_with_a_role_and_no_key_is_named(signers: Signers) -> None:
    signers.commit("allowed_signers", f"ada@example.org {signers.public_key('ada')}")
    assert signers.codes() == ["no-key"]
