"""Texts to compare: lessons of a few words, with all that decides by itself."""

from hypothesis import strategies as st

_WORDS = """
    retry failed payments before after the deploy migration not never BTC ETH v1 v2 30 300 seconds
    ms increase decrease timeout above below funding cache, token and schema; open close position
    重试支付 不要重试 Postgres Redis monthly weekly unsigned signed puppy dog instead of
""".split()

texts = st.lists(st.sampled_from(_WORDS), max_size=7).map(" ".join)
