# A strategy is rewritten when its rule is counted anew; the section that a person wrote stays.
batch() { # MONTH
  for day in $(seq -w 20); do
    case $((${day#0} % 3)) in 0) funding=high score=-0.06 ;; *) funding=normal score=0.05 ;; esac
    cat <<EOF
{"domain": "perps", "occurred_at": "2026-$1-${day}T18:00:00Z", "decision": {"action": "open_long", "target": "BTC-PERP", "made_at": "2026-$1-${day}T09:00:00Z"}, "result": {"score": $score}, "context": {"funding": "$funding"}}
EOF
  done > ../$1.jsonl
  say skillvault import jsonl ../$1.jsonl --now 2026-11-20T12:00:00Z
  say skillvault run refresh generate evaluate --now 2026-11-20T12:00:00Z
}
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
batch 03
say skillvault skill show strategy-perps
sed -i 's/^## Performance Notes$/## Core Approach\n\nOurs: wait for the retest,  always./' skills/strategy-perps/SKILL.md
git commit -qam "Our approach"
batch 04
say git diff HEAD~1 HEAD -- skills/strategy-perps
say skillvault run --now 2026-11-20T12:20:00Z
say skillvault check
