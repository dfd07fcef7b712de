"""Claude as the judge; the only place that names its SDK."""
