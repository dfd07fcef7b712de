# An agent is the judge: no key, no network. The offline words stand at once; what it answers is
# checked, committed, and changes what it is about, in a clone that has only the answers too.
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
printf 'judge:\n  provider: agent\n' >> vault.yaml
git commit -qam 'Let an agent judge'
for n in 1 2; do
  sed "s/HOUR/$n/g" ../loss.yaml | skillvault record - --now 2026-11-20T12:10:00Z 2>/dev/null
done
say skillvault run --now 2026-11-20T12:20:00Z
say skillvault fact list
say skillvault ask --next --session reader
key() { # KIND ABOUT
  skillvault ask -n 9 --json | grep -B2 "\"about\": \"$2" | grep -o "\"$1-[0-9a-f]*\"" \
    | tr -d '"' | head -1
}
insight=$(key insight)
say skillvault answer $insight ../invented.json --now 2026-11-20T12:30:00Z || echo "exit $?"
say skillvault answer $insight ../insight.json --session reader --now 2026-11-20T12:30:00Z
say skillvault answer $(key insight) ../insight.json --session reader --now 2026-11-20T12:31:00Z
say skillvault ask --session reader
say skillvault answer $(key account guide) ../guide.json --now 2026-11-20T12:32:00Z
say skillvault answer $(key account warning) ../warning.json --now 2026-11-20T12:32:00Z
say skillvault ask --drop $(key verdict)
say skillvault fact list
say skillvault skill show guide-perps-open-long
say skillvault skill show warning-perps-open-long-sol-perp
say skillvault why warning-perps-open-long-sol-perp
say skillvault run --now 2026-11-20T12:40:00Z
say skillvault check
say git status --short
