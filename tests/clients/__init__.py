"""The facts that are known about agents' clients."""
