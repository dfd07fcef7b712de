"""Claude as the judge; only this package uses the Anthropic SDK."""
