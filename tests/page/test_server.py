"""The page as it is served: on this machine alone, read only, after the branch."""

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.api import page as page_of_vault
from skillvault.cli.commands import cli
from skillvault.model.errors import BranchMovedError, UsageError
from skillvault.page import server
from skillvault.page.decisions import IDLE, WriteSession, skill_digest, undo_digest, waiting_digest
from skillvault.page.html import html_of
from tests.cli.terminal import Terminal
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade


class Served:
    """A page that another process serves."""

    def __init__(self, vault: Vault) -> None:
        command = [sys.executable, "-m", "skillvault", "--vault", str(vault.root), "report"]
        self.process = subprocess.Popen(
            [*command, "--serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()

    def ask(
        self, path: str = "/", method: str = "GET", **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """(status, body, headers) of one request."""
        place = urlsplit(self.address)
        assert place.hostname
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), dict(reply.getheaders())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Vault, Served]]:
    vault, _ = Vault.init(tmp_path_factory.mktemp("served") / "vault", ["coding"])
    vault.record([("a.json", as_file(raw()))])
    vault.run()
    page = Served(vault)
    yield vault, page
    page.process.send_signal(signal.SIGTERM)
    assert page.process.wait(60) == 0


def test_it_is_served_on_loopback_alone_and_follows_the_branch(
    served: tuple[Vault, Served],
) -> None:
    vault, page = served
    assert urlsplit(page.address).hostname == "127.0.0.1"
    status, body, headers = page.ask()
    assert (status, headers["Cache-Control"]) == (200, "no-store")
    assert "connect-src &#39;self&#39;" in body
    before = page.ask("/head")[1]
    assert f'data-head="{before}"' in body
    vault.record([("b.json", as_file(raw(1)))])
    after = page.ask("/head")[1]
    assert after != before
    assert f'data-head="{after}"' in page.ask()[1]


def test_it_is_read_only_and_has_one_page(served: tuple[Vault, Served]) -> None:
    _, page = served
    assert [page.ask("/", method)[0] for method in ("POST", "PUT", "DELETE")] == [501] * 3
    assert page.ask("/", "HEAD")[1] == ""
    assert [page.ask(path)[0] for path in ("/../vault.yaml", "/vault.yaml", "/skills/")] == [
        404
    ] * 3


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
def test_a_page_of_somebody_else_cannot_read_it(served: tuple[Vault, Served], host: str) -> None:
    assert served[1].ask(Host=host)[0] == 403


def test_a_port_that_is_taken_is_one_sentence(served: tuple[Vault, Served]) -> None:
    vault, page = served
    args = ["--vault", str(vault.root), "report", "--serve", "--port"]
    result = CliRunner().invoke(cli, [*args, str(urlsplit(page.address).port)])
    assert isinstance(result.exception, UsageError)
    assert "choose another, or 0 for any free one" in str(result.exception)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--serve", "--md"], "remove -o and --md"),
        (["--port", "80"], "add --serve"),
        (["--since", "soon"], "write 7d, 2w, 12h or 2026-11-20"),
        (["-o", "none/report.html"], "choose a file that you may write"),
    ],
)
def test_what_does_not_go_together_is_refused(
    served: tuple[Vault, Served], args: list[str], sentence: str
) -> None:
    result = CliRunner().invoke(cli, ["--vault", str(served[0].root), "report", *args])
    assert isinstance(result.exception, UsageError)
    assert sentence in str(result.exception)


class Deciding:
    """A page that takes decisions, with the person at its terminal."""

    def __init__(self, vault: Vault, *, confirms: bool) -> None:
        self.vault = vault
        self.time = 0.0
        self.decisions = WriteSession(vault, lambda: page_of_vault(vault), lambda: self.time)
        self.token = self.decisions.token
        self.served = server.ServedPage(
            lambda: vault.store.snapshot().commit or "",
            lambda: html_of(page_of_vault(vault), is_served=True, decides=True),
            self.decisions,
        )
        self.confirms = confirms
        self.meanwhile: Callable[[], object] = lambda: None  # before the person answers
        self.asked: list[str] = []
        threading.Thread(target=self._confirm, daemon=True).start()

    def _confirm(self) -> None:
        while True:
            confirmation = self.decisions.confirmations.get()
            self.asked += confirmation.lines
            self.meanwhile()
            confirmation.give_answer(is_confirmed=self.confirms)

    def edit(self, text: str) -> bytes:
        """Return the body that the page sends to change the text of the one skill."""
        shown = page_of_vault(self.vault)
        (skill,) = shown.skills
        digest = skill_digest(shown, skill)
        return json.dumps(
            {"act": "edit", "name": skill.name, "digest": digest, "text": text}
        ).encode()

    def form(self, **changes: str) -> bytes:
        """Return the body that the page sends to approve the one waiting item."""
        shown = page_of_vault(self.vault)
        (item,) = shown.waiting
        form = {"act": "approve", "name": item.name, "digest": waiting_digest(shown, item)}
        return json.dumps(form | changes).encode()

    def post(self, address: str, path: str, body: bytes, **headers: str) -> tuple[int, str, str]:
        """(status, body, cookie) of one form."""
        place = urlsplit(address)
        assert place.hostname
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        connection.request("POST", path, body, {"Origin": address[:-1]} | headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.getheader("Set-Cookie") or ""


@pytest.fixture
def ruled(vault: Vault, tmp_path: Path) -> Vault:
    """A vault with one rule that waits for a person."""
    add_rule(vault, tmp_path / "shop")
    return vault


def add_rule(vault: Vault, shop: Path) -> None:
    """Propose the one rule of a document."""
    shop.mkdir()
    (shop / "CONTRIBUTING.md").write_text("## Style\n\n- Use tabs.\n")
    vault.curate.installer.learn(str(shop), now=NOW)


def test_a_confirmed_decision_is_one_commit_in_the_name_of_the_person(ruled: Vault) -> None:
    desk = Deciding(ruled, confirms=True)
    with server.serving(desk.served, 0) as address:
        status, _, cookie = desk.post(address, "/session", desk.token.encode())
        assert (status, "HttpOnly; SameSite=Strict" in cookie) == (200, True)
        tip = ruled.store.snapshot().commit or ""
        form, headers = desk.form(), {"Cookie": cookie.partition(";")[0]}
        assert desk.post(address, "/decide", form, **headers)[0] == 200
        assert page_of_vault(ruled).waiting == []
        (commit,) = ruled.store.git.history.commits_between(tip, "HEAD")
        author, _ = ruled.store.git.history.author_and_text([commit])[commit]
        assert author == "Ada Person"
        assert desk.asked
        assert desk.post(address, "/decide", form, **headers)[0] == 403  # a replayed form
        assert desk.post(address, "/session", desk.token.encode())[0] == 403  # a used token


@pytest.mark.parametrize(
    ("headers", "changes"),
    [
        ({"Origin": "http://evil.example"}, {}),
        ({"Origin": "null"}, {}),
        ({"Host": "evil.example"}, {}),
        ({"Cookie": "skillvault=guessed"}, {}),
        ({"Cookie": ""}, {}),
        ({}, {"digest": "0" * 64}),
        ({}, {"act": "destroy"}),
        ({}, {"act": "edit", "text": "Use spaces."}),
        ({}, {"act": "undo"}),
    ],
)
def test_a_form_that_is_not_the_pages_own_changes_nothing(
    ruled: Vault, headers: dict[str, str], changes: dict[str, str]
) -> None:
    desk = Deciding(ruled, confirms=True)
    with server.serving(desk.served, 0) as address:
        cookie = desk.post(address, "/session", desk.token.encode())[2].partition(";")[0]
        form = desk.form(**changes)
        before = ruled.store.snapshot().commit
        assert desk.post(address, "/decide", form, **({"Cookie": cookie} | headers))[0] == 403
        assert (ruled.store.snapshot().commit, desk.asked) == (before, [])


def test_what_the_terminal_does_not_confirm_changes_nothing(ruled: Vault) -> None:
    desk = Deciding(ruled, confirms=False)
    before = ruled.store.snapshot().commit
    with pytest.raises(UsageError, match="nobody confirmed it"):
        desk.decisions.decide(desk.form())
    assert ruled.store.snapshot().commit == before


def test_a_rejection_keeps_the_reason_that_the_person_wrote(ruled: Vault) -> None:
    desk = Deciding(ruled, confirms=True)
    desk.decisions.decide(desk.form(act="reject", text="We use spaces."))
    assert desk.asked[-1] == "We use spaces."
    assert (page_of_vault(ruled).waiting, ruled.memory.facts()) == ([], [])
    commit = ruled.store.snapshot().commit or ""
    assert "We use spaces." in ruled.store.git.history.author_and_text([commit])[commit][1]


@pytest.mark.parametrize("text", ["", " ", "Use tabs."])
def test_a_rule_is_not_rejected_without_a_reason(ruled: Vault, text: str) -> None:
    desk = Deciding(ruled, confirms=True)
    before = ruled.store.snapshot().commit
    with pytest.raises(UsageError, match="why it is rejected"):
        desk.decisions.decide(desk.form(act="reject", text=text))
    assert (ruled.store.snapshot().commit, desk.asked) == (before, [])


def test_the_terminal_shows_no_other_wording_than_the_approved_one(ruled: Vault) -> None:
    desk = Deciding(ruled, confirms=True)
    desk.decisions.decide(desk.form(text="Use tabs, never spaces."))
    assert [fact.text for fact in ruled.memory.facts()] == ["Use tabs."]
    assert "Use tabs, never spaces." not in desk.asked


def test_a_skill_that_waits_is_rejected(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", "format: 1\ngenerate: {gate: always}\n")
    person.git("commit", "-qam", "a gate")
    vault.record([("a.json", as_file(raw()))])
    vault.run()
    desk = Deciding(vault, confirms=True)
    desk.decisions.decide(desk.form(act="reject", text="It is no general rule."))
    assert not vault.store.snapshot().skills.proposed
    assert not vault.run().done  # it is not proposed again


def test_an_undo_shows_all_that_its_commit_made_before_it_removes_it(vault: Vault) -> None:
    trades = [trade(n, score=-0.2, decision__target=f"COIN-{n}") for n in range(2)]
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(trades)])
    vault.run()
    shown = page_of_vault(vault)
    changes = [change for change in shown.week.changes if change.ref.kind == "skill"]
    (commit,) = {commit for change in changes for commit in change.commits}
    assert len(changes) > 1
    desk = Deciding(vault, confirms=True)
    form = {"act": "undo", "name": commit, "digest": undo_digest(shown, commit), "text": "Luck."}
    desk.decisions.decide(json.dumps(form).encode())
    assert desk.asked == [f"undo {commit}", *(change.what for change in changes), "Luck."]
    assert not vault.skills()


MINE = "---\nname: mine\ndescription: Does it.\n---\n\n# Mine\n\n1. Look.\n"


def commit_mine(person: Person, folder: str) -> None:
    """Commit a skill that a person wrote."""
    person.write(f"{folder}/mine/SKILL.md", MINE)
    person.git("add", folder)
    person.git("commit", "-qm", "a skill")


@pytest.mark.parametrize("folder", ["skills", "proposed"])
def test_an_edit_is_the_diff_that_the_terminal_showed(
    vault: Vault, person: Person, folder: str
) -> None:
    commit_mine(person, folder)
    tip = vault.store.snapshot().commit or ""
    desk = Deciding(vault, confirms=True)
    form = desk.edit("# Mine\n\n1. Look twice.\u202e")
    desk.decisions.decide(form)
    assert desk.asked[0] == "edit mine"
    assert [line for line in desk.asked[3:] if line[0] in "+-"] == ["-1. Look.", "+1. Look twice."]
    assert vault.skill("mine")[0].body == "# Mine\n\n1. Look twice."
    assert person.git("diff", "--name-only", tip, "HEAD").split() == [f"{folder}/mine/SKILL.md"]
    assert person.git("log", "--format=%an", f"{tip}..HEAD").split() == ["Ada", "Person"]
    with pytest.raises(UsageError, match="the page is stale"):
        desk.decisions.decide(form)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "do not empty it"),
        ("# Mine\n\n1. Look.\n\n", "change the text"),
        ("# Mine\n<<<<<<< HEAD\n", "a merge conflict marker"),
    ],
)
def test_a_text_that_no_skill_can_have_is_refused_before_the_question(
    vault: Vault, person: Person, text: str, says: str
) -> None:
    commit_mine(person, "skills")
    desk = Deciding(vault, confirms=True)
    before = vault.store.snapshot().commit
    with pytest.raises(UsageError, match=says):
        desk.decisions.decide(desk.edit(text))
    assert (vault.store.snapshot().commit, desk.asked) == (before, [])


def test_an_undo_that_cannot_be_is_refused_before_the_question(
    vault: Vault, person: Person
) -> None:
    commit_mine(person, "skills")
    vault.curate.pin("mine")
    commit = page_of_vault(vault).week.changes[0].commits[0]
    path = vault.root / "skills/mine/SKILL.md"
    path.write_text(path.read_text(encoding="utf-8").replace("pinned", "active"), encoding="utf-8")
    person.git("commit", "-qam", "no pin")
    shown = page_of_vault(vault)
    desk = Deciding(vault, confirms=True)
    form = {"act": "undo", "name": commit, "digest": undo_digest(shown, commit)}
    with pytest.raises(UsageError, match=r"`git revert [0-9a-f]+` first"):
        desk.decisions.decide(json.dumps(form).encode())
    assert desk.asked == []


def test_a_commit_before_the_yes_makes_the_decision_stale(ruled: Vault) -> None:
    desk = Deciding(ruled, confirms=True)
    desk.meanwhile = lambda: ruled.record([("a.json", as_file(raw()))])
    with pytest.raises(BranchMovedError, match="nothing changed"):
        desk.decisions.decide(desk.form())
    assert len(page_of_vault(ruled).waiting) == 1


def test_a_commit_after_the_yes_makes_the_decision_stale(ruled: Vault) -> None:
    tip, (rule,) = ruled.store.snapshot().commit, ruled.memory.waiting()
    ruled.record([("a.json", as_file(raw()))])
    with ruled.store.require_tip(tip), pytest.raises(BranchMovedError):
        ruled.memory.approve(rule.id)
    assert ruled.memory.waiting() == [rule]
    assert ruled.memory.approve(rule.id).done


def test_a_session_ends_after_thirty_idle_minutes(ruled: Vault) -> None:
    desk = Deciding(ruled, confirms=True)
    cookie = desk.decisions.open_session(desk.token)
    desk.time = IDLE + 1
    assert not desk.decisions.has_session(cookie)


def test_only_a_yes_after_the_question_confirms(ruled: Vault, tmp_path: Path) -> None:
    command = ("--vault", str(ruled.root), "report", "--serve", "--write")
    terminal = Terminal(tmp_path, *command, columns=200)
    screen = terminal.wait(lambda text: "Ctrl-C ends it" in text)
    address, token = re.findall(r"(http\S+)#token=(\S+)", screen)[0]
    desk = Deciding(ruled, confirms=True)
    cookie = desk.post(address, "/session", token.encode())[2].partition(";")[0]
    terminal.press("yes\n")  # in advance

    def decide(answer: str, count: int) -> int:
        with ThreadPoolExecutor() as browser:
            reply = browser.submit(desk.post, address, "/decide", desk.form(), Cookie=cookie)
            terminal.wait(lambda text: text.count("type yes to confirm") == count)
            terminal.press(f"{answer}\n")
            return reply.result()[0]

    assert [decide("no", 1), decide("yes", 2)] == [403, 200]
    terminal.press("\x03")
    assert terminal.end() == 0
    assert not ruled.memory.waiting()


def test_decisions_need_a_terminal(served: tuple[Vault, Served]) -> None:
    args = ["--vault", str(served[0].root), "report", "--serve", "--write"]
    result = CliRunner().invoke(cli, args)
    assert "run it in a terminal" in str(result.exception)
