"""What is known of agents' clients."""
