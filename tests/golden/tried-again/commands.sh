# Use retired two skills. A quarter of a year later, in another world, both are tried again: one
# helps now and stays, the other hurts as before and goes back.
skillvault init vault --domain coding --now 2026-08-01T12:00:00Z > /dev/null 2>&1
cd vault
for name in mock-the-network wait-and-retry; do
mkdir -p "skills/$name"
printf -- '---\nname: %s\ndescription: What to do with a websocket test that fails now and then.\nmetadata:\n  domain: coding\n---\n\nDo it.\n' "$name" > "skills/$name/SKILL.md"
done
git add skills
GIT_COMMITTER_DATE=2026-08-01T13:00:00Z git commit -qm "Two skills of ours"
python "$GOLDEN/decisions.py" 2026-08-10T00:00:00Z coding :12:14 mock-the-network:1:12 wait-and-retry:1:12 > ../august.jsonl
skillvault import jsonl ../august.jsonl --now 2026-08-20T12:00:00Z
say skillvault run assess --now 2026-08-20T12:00:00Z
say skillvault recommend --domain coding --task "a websocket test fails now and then" --now 2026-08-20T12:01:00Z
python "$GOLDEN/decisions.py" 2026-11-10T00:00:00Z coding :1:1 > ../november.jsonl
skillvault import jsonl ../november.jsonl --now 2026-11-10T12:00:00Z
say skillvault run assess --now 2026-11-10T12:00:00Z
say skillvault stats
say skillvault recommend --domain coding --task "a websocket test fails now and then" --now 2026-11-10T12:01:00Z
python "$GOLDEN/decisions.py" 2026-11-11T00:00:00Z coding mock-the-network:10:10 wait-and-retry:0:9 --receipts inbox > ../trial.jsonl
skillvault run record --now 2026-11-12T12:00:00Z > /dev/null 2>&1
skillvault import jsonl ../trial.jsonl --now 2026-11-12T12:00:00Z
say skillvault run assess --now 2026-11-12T12:00:00Z
say skillvault stats wait-and-retry
python "$GOLDEN/decisions.py" 2026-11-13T00:00:00Z coding wait-and-retry:0:1 --receipts inbox > ../last.jsonl
skillvault run record --now 2026-11-13T12:00:00Z > /dev/null 2>&1
skillvault import jsonl ../last.jsonl --now 2026-11-13T12:00:00Z
say skillvault run assess --now 2026-11-13T12:00:00Z
say skillvault stats
say skillvault why wait-and-retry
say skillvault check
