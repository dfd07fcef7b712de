"""Packages that bring skills: found without being run; a broken one is a problem, no more."""

import sys
import zipfile
from collections.abc import Callable
from importlib import metadata
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.files import layers

SKILL = "---\nname: {0}\ndescription: What {0} does.\n---\n\nText.\n"
HOSTILE = {
    "raises": "raise RuntimeError('was run')",
    "exits": "raise SystemExit('was run')",
    "leaves at once": "import os; os._exit(3)",
    "sleeps": "import time; time.sleep(600)",
    "is no Python": "def (",
    "imports what is missing": "import no_such_module",
    "writes": "from pathlib import Path; Path(__file__).with_name('was-run').touch()",
    "removes its path": "__path__ = []",
    "replaces itself": "import sys; sys.modules[__name__] = None",
    "NUL": "\0",
}


def installed(site: Path, package: str, entry: str | None = None, name: str = "") -> Path:
    """Install a distribution with one skill and return the folder of its package."""
    place = site.joinpath(*package.split("."))
    (place / "a-skill").mkdir(parents=True)
    (place / "a-skill/SKILL.md").write_text(SKILL.format("a-skill"))
    described(site, f"[{layers.GROUP}]\nbrings = {entry or package}\n", name or package)
    return place


def described(site: Path, entry_points: str, name: str = "") -> Path:
    """Write the metadata that pip puts beside a package, and return its folder."""
    name = name or f"broken-{site.name}"
    about = site / f"{name.replace('.', '_')}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(entry_points)
    return about


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path; only what is installed there is seen."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(layers, "distributions", lambda: metadata.distributions(path=[str(place)]))
    return place


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("package", ["hostile_skills", "hostile_parent.skills"])
def test_a_package_is_found_and_not_run(site: Path, package: str, code: str) -> None:
    place = installed(site, package)
    for folder in (place, *place.parents):
        if folder == site:
            break
        (folder / "__init__.py").write_text(code)
    assert layers.plugins() == ([place], [])
    assert not list(site.rglob("was-run"))


def test_a_package_without_a_file_of_its_own_is_found(site: Path) -> None:
    place = installed(site, "spaced.team.skills")
    assert layers.plugins() == ([place], [])


def test_an_object_and_extras_behind_the_package_change_nothing(site: Path) -> None:
    place = installed(site, "trading_skills", "trading_skills:SKILLS.folder [fast]")
    assert layers.plugins() == ([place], [])


def test_a_package_that_is_installed_to_be_edited_is_found(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = installed(tmp_path / "checkout/src", "edited_skills")
    (place / "__init__.py").write_text("raise SystemExit('was run')")
    described(site, f"[{layers.GROUP}]\nbrings = edited_skills\n", "edited")

    class Finder:
        """A finder as setuptools leaves it for an editable install."""

        @staticmethod
        def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
            where = [str(place)]
            file = place / "__init__.py"
            return (
                spec_from_file_location(name, file, submodule_search_locations=where)
                if name == "edited_skills"
                else None
            )

    monkeypatch.setattr("sys.meta_path", [Finder, *sys.meta_path])
    assert layers.plugins() == ([place], [])


def _zipped(site: Path) -> None:
    archive = site / "zipped.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_skills/__init__.py", "raise SystemExit")
        file.writestr("zipped_skills/a-skill/SKILL.md", SKILL.format("a-skill"))
    sys.path.append(str(archive))
    described(site, f"[{layers.GROUP}]\nbrings = zipped_skills\n")


def _module(site: Path) -> None:
    (site / "one_module.py").write_text("raise SystemExit")
    described(site, f"[{layers.GROUP}]\nbrings = one_module\n")


def _entry(value: str) -> Callable[[Path], None]:
    def install(site: Path) -> None:
        described(site, f"[{layers.GROUP}]\nbrings = {value}\n")

    return install


def _text(text: str) -> Callable[[Path], None]:
    def install(site: Path) -> None:
        described(site, text)

    return install


def _bytes(site: Path) -> None:
    about = described(site, "")
    (about / "entry_points.txt").write_bytes(f"[{layers.GROUP}]\nb\xff = x\n".encode("latin-1"))


# (what is installed, the codes of the problems that this makes, a part of the first's sentence)
BROKEN: dict[str, tuple[Callable[[Path], None], list[str], str]] = {
    "a zip": (_zipped, ["no-package"], "lies in a zip file"),
    "a module": (_module, ["no-package"], "is a module without a folder"),
    "nothing of that name": (_entry("no_such_package"), ["no-package"], "no such package"),
    "nothing below": (_entry("json.no_such"), ["no-package"], "no such package"),
    "a module of the library": (_entry("json.decoder"), ["no-package"], "no such package"),
    "a built-in": (_entry("sys"), ["no-package"], "sys: "),
    "a path": (_entry("../../etc"), ["no-package"], "no package has such a name"),
    "an absolute path": (_entry("/etc"), ["no-package"], "no package has such a name"),
    "dots": (_entry("a..b"), ["no-package"], "no package has such a name"),
    "nothing": (_entry(""), ["no-package"], "no package has such a name"),
    "an order": (_entry("os; rm"), ["no-package"], "no package has such a name"),
    "no sign": (_text(f"[{layers.GROUP}]\njust words\n"), ["bad-entry-points"], "cannot be read"),
    "no section": (_text(f"brings = {layers.GROUP}\n"), [], ""),
    "another group": (_text(f"[other]\na = {layers.GROUP}\n"), [], ""),
    "no UTF-8": (_bytes, [], ""),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_is_a_problem_and_the_rest_goes_on(
    site: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    install, codes, says = BROKEN[case]
    monkeypatch.setattr("sys.path", list(sys.path))
    good = installed(site, "good_skills")
    install(site)
    folders, problems = layers.plugins()
    assert folders == [good]
    assert [one.code for one in problems] == codes
    assert says in "".join(one.message for one in problems)
    assert not codes or "; " in problems[0].message


def test_with_all_of_them_installed_every_question_is_answered(
    site: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    for number, code in enumerate(HOSTILE.values()):
        place = installed(site, f"hostile_{number}")
        (place / "__init__.py").write_text(code)
    for number, (install, _, _) in enumerate(BROKEN.values()):
        place = site / f"p{number}"
        place.mkdir()
        monkeypatch.syspath_prepend(str(place))
        install(place)
    monkeypatch.setattr(
        layers,
        "distributions",
        lambda: metadata.distributions(path=[str(site), *map(str, site.glob("p*"))]),
    )
    assert vault.shelf.get("a-skill") is not None
    assert len(vault.shelf.problems) >= 10
    assert vault.recommend("coding", pins=["a-skill"]).recommended or vault.shelf.skills()
    assert vault.check().problems == []
