# A fact and a pattern from memory that a person reverts are not made again.
say skillvault init vault --domain dlmm --now 2026-11-01T12:00:00Z
cd vault
head -n 6 "$EXAMPLES/week.jsonl" > ../week.jsonl
skillvault import jsonl ../week.jsonl --now 2026-11-08T12:00:00Z
say skillvault run --now 2026-11-08T12:00:00Z
say skillvault fact list
say git revert --no-edit $(git log --format=%H -n 1 --grep '^promote: pattern-')
say skillvault run --now 2026-11-08T12:10:00Z
say skillvault why-not $(skillvault fact list | sed -n '2s/^ *\([^ ]*\).*/\1/p')
say git revert --no-edit $(git log --format=%H --reverse --grep '^promote: [0-9]* facts' | head -n 1)
say skillvault run --now 2026-11-08T12:20:00Z
sed -n 7p "$EXAMPLES/week.jsonl" > ../last.json
say skillvault record ../last.json --now 2026-11-08T21:00:00Z
say skillvault run --now 2026-11-08T21:00:00Z
say skillvault fact list
say skillvault check
