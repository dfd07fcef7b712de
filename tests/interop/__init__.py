"""The programs of others, as they are; `make interop` gets them and runs these tests."""
