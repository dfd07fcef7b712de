"""Which skills an agent gets before a task, and how they read."""
