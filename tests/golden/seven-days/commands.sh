# A week: an insight, insights like it, a pattern from memory, and a skill that is applied.
say skillvault init vault --domain dlmm --now 2026-11-01T12:00:00Z
cd vault
for day in 2 3 4 5 6 7 8; do
  sed -n "$((day - 1))p" "$EXAMPLES/week.jsonl" > ../day.json
  say skillvault record ../day.json --now 2026-11-0${day}T20:05:00Z
  say skillvault run --now 2026-11-0${day}T20:10:00Z
done
say skillvault fact list
say skillvault why pattern-dlmm-volatility-high-add-liquidity
say skillvault why-not $(skillvault fact list | grep -A 1 BTC | sed -n '2s/^ *\([^ ]*\).*/\1/p')
say skillvault skill show pattern-dlmm-volatility-high-add-liquidity
say skillvault run --now 2026-11-08T20:20:00Z
say skillvault check
