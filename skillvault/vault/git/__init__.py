"""Git: its processes, objects, configuration and index file."""
