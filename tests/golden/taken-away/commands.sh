# What a person reverts is not learned again, under no other name either; `check` accepts it.
say skillvault init vault --domain coding --now 2026-11-20T12:00:00Z
cd vault
say skillvault record ../first.yaml --now 2026-11-20T12:00:00Z
say skillvault run --now 2026-11-20T12:00:00Z
say git revert --no-edit HEAD
say skillvault check
say skillvault run --now 2026-11-20T12:30:00Z
say skillvault record ../again.yaml --now 2026-11-20T12:40:00Z
say skillvault run -v --now 2026-11-20T12:40:00Z
say skillvault why-not 20261102t101500z
say git revert --no-edit $(git log --grep "^evaluate:" --format=%H | tail -n 1)
say skillvault run --now 2026-11-20T12:50:00Z
say skillvault check
