# Two sessions meet the same trouble: each is distilled, and both become one skill in the same run.
# A third one that says the same is counted in it; what a person takes away stays away.
say skillvault init vault --domain coding --now 2026-11-20T12:00:00Z
cd vault
say skillvault record ../first.yaml --now 2026-11-20T18:05:00Z
say skillvault run --now 2026-11-20T18:05:00Z
say cat skills/$(ls skills)/SKILL.md
say skillvault record ../second.yaml --now 2026-11-21T10:00:00Z
say skillvault run --now 2026-11-21T10:00:00Z
NAME=$(ls skills)
say cat skills/$NAME/SKILL.md
say git log -1 --format=%B
say skillvault why $NAME
say skillvault why-not s-77
sed -e 's/s-77/s-79/' -e 's/11-20T18/11-22T18/' ../first.yaml > ../third.yaml
say skillvault distill ../third.yaml --now 2026-11-22T19:00:00Z
say skillvault run --now 2026-11-22T19:00:00Z
say grep sessions skills/$NAME/SKILL.md
say git rm -rq skills/$NAME
say git commit -qm "We queue everything now"
say skillvault run --now 2026-11-23T10:00:00Z
say skillvault check
