# A reasoning that lost three times is to be avoided. Then the same reasoning wins: each win stands
# against the fact, and is counted. As it ended both ways, the guide only lists what was tried, and
# the warning of the market, which lost heavily, no longer tells that reasoning as a cause.
trade() {
  sed "s/DAY/$1/g; s/TARGET/$2/; s/SCORE/$3/" ../trade.yaml > inbox/$1.yaml
  touch -d 2026-11-01 inbox/$1.yaml
}
ask() {
  say skillvault recommend --domain perps --task "Open a long before the funding payment" \
    --format xml -k 2 --now 2026-11-20T12:00:00Z
}
say skillvault init vault --domain perps --now 2026-11-01T12:00:00Z
cd vault
trade 02 SOL -0.12
trade 03 SOL -0.11
trade 04 ARB -0.05
say skillvault run --now 2026-11-04T12:00:00Z
fact=$(skillvault fact list | sed -n 's/^  *\([^ ]*\).*/\1/p')
ask
trade 05 SOL 0.04
trade 06 WIF 0.03
say skillvault run --now 2026-11-06T12:00:00Z
say skillvault fact show $fact
ask
trade 07 SOL 0.05
say skillvault run --now 2026-11-07T12:00:00Z
say skillvault why $fact
say skillvault why-not $fact
say skillvault skill list
say skillvault skill list --archived
ask
say skillvault check
