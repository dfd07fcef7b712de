"""Read and write a vault: its files, its git repository and its index. No learning rules."""
