"""What people see: status, doctor, why-not, log, and the data of the page."""
