# Claude judges and writes: blind first, then what it teaches; three like losses stand in one guide.
# Asked before acting it says no, and without a key what is to be judged waits.
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
printf 'judge:\n  provider: claude\n' >> vault.yaml
git commit -qam 'Appoint Claude'
n=0
for coin in SOL BTC ETH; do
  n=$((n + 1))
  sed "s/TARGET/$coin/g; s/HOUR/$n/g" ../loss.yaml |
    skillvault record - --now 2026-11-20T12:10:00Z 2>/dev/null
done
say skillvault run --now 2026-11-20T12:20:00Z
say skillvault run --now 2026-11-20T12:30:00Z
say skillvault status
say skillvault judge ../decision.yaml --now 2026-11-20T12:40:00Z || echo "exit $?"
unset ANTHROPIC_API_KEY
say skillvault run --now 2026-11-20T12:50:00Z || echo "exit $?"
say skillvault check
say git status --short
