"""The default judge: free, offline, deterministic."""
