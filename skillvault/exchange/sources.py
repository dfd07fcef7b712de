"""Parse the SOURCE argument of `install`: a folder, git, a site, GitHub or ClawHub.

Nothing is opened or fetched. A text that could be an option or a program to run is refused.
"""

import re
from typing import Literal

from msgspec import Struct

from skillvault.exchange.source_tree import check_path
from skillvault.model.errors import BadInputError, UsageError

Kind = Literal["folder", "git", "site", "clawhub"]

REGISTRY = "https://clawhub.ai"
_SOURCE_FORMS = (
    "a folder, a git URL (https, ssh or file; `#ref:folder` behind it), owner/repo[/folder] on "
    "GitHub, a site's https address, or clawhub:owner/name"
)
_GIT_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "huggingface.co")
_HOST = r"[A-Za-z0-9][A-Za-z0-9.-]*"
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>.*)", re.IGNORECASE)
_SSH_URL = re.compile(rf"ssh://(?:[A-Za-z0-9_][\w.-]*@)?{_HOST}(?::[0-9]+)?/[^-].*")
_SCP_ADDRESS = re.compile(rf"[A-Za-z0-9_][\w.-]*@{_HOST}:(?!//)[^-\s].*")
_WEB_URL = re.compile(rf"https?://(?P<host>{_HOST}|\[[0-9a-f:]+\])(?::[0-9]+)?(?P<path>[/?].*)?")
_GITHUB = re.compile(r"(?P<owner>[A-Za-z0-9][\w.-]*)/(?P<repo>[A-Za-z0-9_][\w.-]*)(?P<path>/.+)?")
_TREE_URL = re.compile(
    r"(?P<repo>https://[^/]+/[^/]+/[^/]+)/(?:-/)?tree/(?P<ref>[^/]+)(?:/(?P<path>.+))?"
)
_REF = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][\w./@+-]*")
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*")


class SkillSource(Struct, frozen=True):
    """A source of skills, with its address, and the ref and folder in a git repository.

    `skill` selects one skill of a site, or `owner`'s skill in the registry at `url`.
    """

    kind: Kind
    url: str
    ref: str = ""
    folder: str = ""
    owner: str = ""
    skill: str = ""

    @property
    def is_private(self) -> bool:
        """True if the source is on this machine or needs a key."""
        return self.kind == "folder" or (self.kind == "git" and not self.url.startswith("https://"))

    @property
    def address(self) -> str:
        """The SOURCE text for this source."""
        return self.skill_address(self.folder, self.skill).rstrip("#")

    def skill_address(self, folder: str, skill: str) -> str:
        """Return the SOURCE text for one skill of this source."""
        if self.kind == "clawhub":
            return f"clawhub:{self.owner}/{self.skill}"
        if self.kind == "site":
            return f"{self.url}#{skill}"
        if self.kind == "folder":
            return f"{self.url}/{folder}" if folder else self.url
        return f"{self.url}#{self.ref}:{folder}" if self.ref or folder else self.url


def parse_source(text: str, *, registry: str = REGISTRY, is_path: bool = False) -> SkillSource:
    """Parse a SOURCE. Raise UsageError with the accepted forms if it has another form.

    With `is_path`, a folder or file of this name exists and takes precedence.
    """
    if not text or text.startswith("-") or not text.isprintable():
        raise _source_error(text, "not a source")
    if text.startswith("clawhub:"):
        return _parse_registry_skill(text, registry)
    if is_path or text.startswith((".", "/", "~")):
        return SkillSource("folder", text.rstrip("/") or "/")
    if _URL.match(text):
        return _parse_address(text)
    address, _, fragment = text.partition("#")
    if _SCP_ADDRESS.fullmatch(address):
        return _parse_repository(address, fragment)
    if match := _GITHUB.fullmatch(address):
        url = f"https://github.com/{match['owner']}/{match['repo'].removesuffix('.git')}.git"
        folder = (match["path"] or "").strip("/")
        return _parse_repository(url, fragment or (f":{folder}" if folder else ""))
    raise _source_error(text, "not a source, and there is no folder of this name")


def _parse_registry_skill(text: str, registry: str) -> SkillSource:
    owner, _, name = text.removeprefix("clawhub:").removeprefix("@").partition("/")
    if not (_NAME.fullmatch(owner) and _NAME.fullmatch(name)):
        raise _source_error(text, "not a skill of a registry; write clawhub:owner/name")
    if not _WEB_URL.fullmatch(registry):
        raise UsageError(f"--registry {registry}: not an https address; write {REGISTRY}")
    return SkillSource("clawhub", registry.rstrip("/"), owner=owner, skill=name)


def _parse_address(text: str) -> SkillSource:
    base, _, fragment = text.partition("#")
    address = base.removeprefix("git+")
    if address.startswith("file:///") or _SSH_URL.fullmatch(address):
        return _parse_repository(address, fragment)
    match = _WEB_URL.fullmatch(address)
    if match is None:
        raise _source_error(text, "not an address that skills are fetched from")
    if tree := _TREE_URL.fullmatch(address):
        return _parse_repository(f"{tree['repo']}.git", f"{tree['ref']}:{tree['path'] or ''}")
    if address != base or address.endswith(".git") or match["host"] in _GIT_HOSTS:
        if not address.startswith("https://"):
            raise _source_error(text, "git over plain http, which anybody on the way may change")
        return _parse_repository(address.rstrip("/"), fragment)
    if fragment and not _NAME.fullmatch(fragment):
        raise _source_error(text, "not the name of a skill behind the #")
    return SkillSource("site", base.rstrip("/"), skill=fragment)


def _parse_repository(url: str, fragment: str) -> SkillSource:
    """Parse the address of a git repository; `fragment` is `ref:folder`."""
    ref, _, folder = fragment.partition(":")
    if ref and not _REF.fullmatch(ref):
        raise _source_error(f"{url}#{fragment}", f"{ref!r} is not the name of a branch or tag")
    folder = folder.strip("/")
    if folder:
        try:
            check_path(folder)
        except BadInputError as error:
            raise _source_error(f"{url}#{fragment}", error.message) from None
    return SkillSource("git", url, ref=ref, folder=folder)


def _source_error(text: str, reason: str) -> UsageError:
    printable_text = "".join(c if c.isprintable() else "?" for c in text[:200])
    return UsageError(f"{printable_text}: {reason}; name {_SOURCE_FORMS}")
