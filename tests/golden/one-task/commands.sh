# Five runs of one task, a day at a time: what was refused, what was left undone, what those saw that
# succeeded. Each statement stands once, where it is acted on, with counts that the records bear out.
say skillvault init vault --domain office --now 2026-11-20T12:00:00Z
cd vault
for day in 02 03; do
  grep "2026-11-${day}T" ../runs.jsonl > ../day.jsonl
  say skillvault import jsonl ../day.jsonl --now "2026-11-${day}T20:00:00Z"
  say skillvault run --now "2026-11-${day}T20:10:00Z"
done
say skillvault skill show guide-office-sum-invoices
say skillvault check
