# A lead reviews what two domains taught before anything is served.
init() { skillvault init vault --domain perps --domain coding --now 2026-11-20T12:00:00Z; }
init > /dev/null 2>&1
cd vault
echo 'generate: {gate: always}' >> vault.yaml
git commit -qam 'Let nothing in unseen'
skillvault import jsonl "$EXAMPLES/trading.jsonl" "$EXAMPLES/coding.jsonl" --now 2026-11-20T12:00:00Z > /dev/null 2>&1
skillvault run --now 2026-11-20T12:00:00Z > /dev/null 2>&1
say skillvault skill list --proposed
say skillvault skill diff warning-perps-open-long-arb-perp
say skillvault skill approve guide-coding-add-endpoint --now 2026-11-20T13:00:00Z
say skillvault skill approve warning-perps-open-long-eth-perp --now 2026-11-20T13:00:00Z
say skillvault skill reject warning-perps-open-long-arb-perp --reason 'one bad week, not a rule' --now 2026-11-20T13:10:00Z
say skillvault run generate --now 2026-11-20T14:00:00Z
say skillvault log --step reject -p
say skillvault undo warning-perps-open-long-eth-perp --reason 'we do not trade it' --now 2026-11-20T14:10:00Z
say skillvault run generate --now 2026-11-20T14:20:00Z
outcome=$(git ls-files outcomes/coding | head -1)
say skillvault impact "$outcome"
say skillvault retract "$outcome" --reason 'the label was wrong' --now 2026-11-20T14:30:00Z
say skillvault run --now 2026-11-20T14:40:00Z
say skillvault skill list
say skillvault check
