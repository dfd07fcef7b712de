# The trades of 2018, imported in 2026: what the last of them teach is living, and stays so. A
# skill ages by the clock of its domain, which stands at the last trade; what was old by then, a
# loss of January, makes no warning: the guide tells it, which has no end.
say skillvault init vault --domain spot --now 2026-11-20T12:00:00Z
cd vault
say skillvault import jsonl ../2018.jsonl --now 2026-11-20T12:00:00Z
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault skill list
say skillvault skill list --archived
say skillvault recommend --domain spot --task "Buy BTC in the range" --format xml --now 2026-11-20T12:00:00Z -k 2
say skillvault why-not 20180109t160000z
say skillvault run --now 2027-11-20T12:00:00Z
say skillvault skill list
say skillvault check
