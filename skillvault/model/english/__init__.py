"""English: function words, and the irregular forms that no stemmer knows."""

from pkgutil import get_data


def read_words(package: str, name: str) -> dict[str, str]:
    """Read a file of words: the head of each section, `[head]`, and what stands below it."""
    text = (get_data(package, name) or b"").decode()
    return dict(section.split("]") for section in text.split("[")[1:])


_WORDS = read_words("skillvault.model.english", "words.txt")
FUNCTION_WORDS = frozenset(_WORDS["function"].split())

_GROUPS = [line.split() for line in _WORDS["irregular"].split(";")]
_FORMS = {form: forms for forms in _GROUPS for form in forms}


def other_forms(word: str) -> list[str]:
    """The other forms of an irregular word: `went` -> go, gone, goes."""
    return [form for form in _FORMS.get(word, ()) if form != word]


def base_form(word: str) -> str:
    """The first form of an irregular word: `went` -> go; any other word as it is."""
    return _FORMS[word][0] if word in _FORMS else word
