"""The index of similar texts answers exactly as a scan of all pairs would."""

from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.promote.facts import Neighbours
from skillvault.model.text.text import similarity, words

TEXTS = st.lists(
    st.lists(st.sampled_from("aaaa bbbb cccc dddd eeee ffff".split()), max_size=6).map(" ".join),
    max_size=12,
)
THRESHOLDS = st.sampled_from([0.0, 0.2, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 1.0])


def _index(texts: list[str], threshold: float) -> Neighbours:
    index = Neighbours(threshold)
    for text in texts:
        index.add(words(text))
    return index


@given(TEXTS, st.lists(st.sampled_from("aaaa bbbb cccc gggg".split())).map(" ".join), THRESHOLDS)
def test_the_first_neighbour_is_the_scans(texts: list[str], asked: str, threshold: float) -> None:
    scan = [i for i, text in enumerate(texts) if similarity(text, asked) > threshold]
    assert _index(texts, threshold).first(words(asked)) == (scan[0] if scan else None)


@given(TEXTS, st.lists(st.sampled_from("aaaa bbbb cccc gggg".split())).map(" ".join), THRESHOLDS)
def test_the_closest_neighbour_is_the_scans(texts: list[str], asked: str, threshold: float) -> None:
    near = [(similarity(text, asked), -i) for i, text in enumerate(texts)]
    best = max((n for n in near if n[0] > threshold), default=None)
    found = _index(texts, threshold).closest(words(asked))
    assert found == (-best[1] if best else None)


def test_an_empty_text_has_no_neighbour() -> None:
    assert _index(["", "aaaa bbbb"], 0.0).first(words("")) is None
