# A rule that separates is told once chance does not explain it, and stands in the strategy as long
# as it holds: more of the same changes its counts alone. Then the market turns: the rule goes, and
# the strategy with it, as base rates alone make none.
batch() { # MONTH DAYS HIGH NORMAL: the score when funding was high, on some days, and when not
  for day in $(seq -w "$2"); do
    number=${day#0} month=${1#0}
    case $(((number * number * 7 + number * 3 + month) % 11)) in
      [0-4]) funding=high score=$3 ;; *) funding=normal score=$4 ;;
    esac
    case $day in 08) score=-0.02 ;; esac
    cat <<EOF
{"domain": "perps", "occurred_at": "2026-$1-${day}T18:00:00Z", "decision": {"action": "open_long", "target": "BTC-PERP", "made_at": "2026-$1-${day}T09:00:00Z"}, "result": {"score": $score}, "context": {"funding": "$funding"}}
EOF
  done > ../$1.jsonl
  say skillvault import jsonl ../$1.jsonl --now 2026-11-20T12:00:00Z
  say skillvault run evaluate generate refresh --now 2026-11-20T12:00:00Z
  say sed -n '/^## What to Avoid/,$p' */strategy-perps/SKILL.md
  say git log -1 --format=%b | grep -v '^Skillvault-'
}
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
batch 03 30 -0.06 0.05
batch 04 30 -0.06 0.05
batch 05 20 -0.06 0.05
batch 06 20 -0.06 0.05
batch 07 30 0.05 -0.06
batch 08 30 0.05 -0.06
say skillvault run evaluate generate refresh --now 2026-11-20T12:10:00Z
say skillvault check
