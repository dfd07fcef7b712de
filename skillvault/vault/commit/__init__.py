"""Turn changes into commits, safely while a person works in the same repository."""
