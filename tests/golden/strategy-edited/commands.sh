# A strategy is rewritten when ten more outcomes came; the section that a person wrote stays.
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
head -n 11 "$EXAMPLES/trading.jsonl" > ../first.jsonl
tail -n +12 "$EXAMPLES/trading.jsonl" > ../then.jsonl
skillvault import jsonl ../first.jsonl --now 2026-11-20T12:00:00Z
say skillvault run generate evaluate --now 2026-11-20T12:00:00Z
say skillvault skill show strategy-perps
sed -i 's/^## Performance Notes$/## Core Approach\n\nOurs: wait for the retest,  always./' skills/strategy-perps/SKILL.md
git commit -qam "Our approach"
skillvault import jsonl ../then.jsonl --now 2026-11-20T12:10:00Z
say skillvault run generate evaluate --now 2026-11-20T12:10:00Z
say git diff HEAD~1 HEAD -- skills/strategy-perps
say skillvault run --now 2026-11-20T12:20:00Z
say skillvault check
