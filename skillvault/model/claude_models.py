"""List the Claude models that a judge may use, with their prices in November 2026.

The default models are THOROUGH and FAST. This module needs neither the SDK nor the network.
"""

from collections.abc import Mapping

from msgspec import Struct


class Price(Struct, frozen=True):
    """The dollars per million tokens that a model reads and writes.

    `cacheable` is the least number of tokens in a prefix that the model caches.
    """

    read: float
    write: float
    takes_temperature: bool = False
    cacheable: int = 4096


class Usage(Struct, frozen=True):
    """The tokens of one reply, as the API bills them."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    @property
    def tokens(self) -> int:
        """The sum of all tokens."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return self.input_tokens + self.output_tokens + cached


THOROUGH = "claude-sonnet-5-5"
FAST = "claude-haiku-5-5"

MODELS: Mapping[str, Price] = {
    "claude-fable-5-1": Price(10, 50, cacheable=512),
    "claude-opus-5-5": Price(4, 20, cacheable=512),
    "claude-opus-5": Price(5, 25, cacheable=512),
    "claude-opus-4-8": Price(5, 25, cacheable=1024),
    "claude-opus-4-7": Price(5, 25, cacheable=2048),
    "claude-opus-4-6": Price(5, 25, takes_temperature=True),
    "claude-sonnet-5-5": Price(2, 10, cacheable=1024),  # as its predecessor; 512 by one account
    "claude-sonnet-5": Price(2, 10, cacheable=1024),
    # 1,024 is documented, but no prefix below 2,048 was seen to be cached.
    "claude-sonnet-4-6": Price(3, 15, takes_temperature=True, cacheable=2048),
    "claude-haiku-5-5": Price(0.1, 0.5),  # up to 100,000 tokens in a prompt; the judge sends fewer
    "claude-haiku-4-5": Price(1, 5, takes_temperature=True),
}
_TOKEN_LENGTH = 4  # characters in English; fewer in other languages
BATCH_RATE = 0.5  # the share of a price that the Message Batches API asks
_CACHE_READ_RATE, _CACHE_WRITE_RATE = (
    0.1,
    1.25,
)  # of the price of a token read, if a cache is read or written
_MILLION = 1_000_000


def cacheable_length(model: str) -> int:
    """Return the least number of characters in a prefix that a model caches."""
    return _TOKEN_LENGTH * MODELS.get(model, Price(0, 0)).cacheable


def cost(price: Price, usage: Usage) -> float:
    """Return the cost of a reply in dollars."""
    tokens_read = (
        usage.input_tokens
        + _CACHE_WRITE_RATE * (usage.cache_creation_input_tokens or 0)
        + _CACHE_READ_RATE * (usage.cache_read_input_tokens or 0)
    )
    return (price.read * tokens_read + price.write * usage.output_tokens) / _MILLION


def max_cost(price: Price, size: int, max_tokens: int) -> float:
    """Return the highest cost in dollars of a request of `size` bytes, at two bytes a token."""
    return (price.read * _CACHE_WRITE_RATE * size / 2 + price.write * max_tokens) / _MILLION
