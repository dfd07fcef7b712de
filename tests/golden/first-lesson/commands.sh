# An outcome in the inbox becomes a guide of its action; its repeat reinforces it; a success after
# it stands there as what worked later; running again makes no commit.
say skillvault init vault --domain coding --now 2026-11-20T12:00:00Z
cd vault
cp ../first.yaml inbox/ && touch -d 2026-11-01 inbox/first.yaml
say skillvault run --dry-run --now 2026-11-20T12:00:00Z
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault record ../again.yaml --now 2026-11-20T12:30:00Z
say skillvault record ../solved.md --now 2026-11-20T12:30:00Z
say skillvault run --now 2026-11-20T12:30:00Z
say skillvault record ../solved.md --now 2026-11-20T12:30:00Z
say skillvault run --now 2026-11-20T12:30:00Z
say skillvault status
say skillvault why $(skillvault skill list | grep -o '^guide[^ ]*')
say skillvault impact 20261102t101500z
say skillvault why-not 20261105t101500z
say skillvault check
say git status --short
