"""The views of a vault: status, doctor, why-not, log, and the data of the page."""
