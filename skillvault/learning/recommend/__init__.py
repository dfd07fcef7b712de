"""Choose the skills that an agent gets before a task, and render them; no I/O."""
