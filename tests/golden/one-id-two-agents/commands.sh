# Another agent reports failures under the decisions of one whose skill helps. They are refused;
# where nobody was recommended anything, two agents may use one id, and are counted apart.
skillvault init vault --domain coding --now 2026-10-01T12:00:00Z > /dev/null 2>&1
cd vault
mkdir -p skills/reproduce-first
printf -- '---\nname: reproduce-first\ndescription: What to do first.\n---\n\nDo it.\n' > skills/reproduce-first/SKILL.md
git add skills
GIT_COMMITTER_DATE=2026-10-01T13:00:00Z git commit -qm "A skill of ours"
python "$GOLDEN/decisions.py" 2026-11-01T00:00:00Z coding :2:8 reproduce-first:8:8 --receipts inbox > ../ours.jsonl
sed 's/"success"/"failure"/; s/^{/{"source": {"agent": "other"}, /' ../ours.jsonl > ../theirs.jsonl
skillvault run record --now 2026-11-20T12:00:00Z > /dev/null 2>&1
say skillvault import jsonl ../ours.jsonl --now 2026-11-20T12:00:00Z
say skillvault run assess --now 2026-11-20T12:00:00Z
say skillvault stats
say skillvault import jsonl ../theirs.jsonl --now 2026-11-20T12:05:00Z 2>&1 | tail -n 2
say skillvault stats
say skillvault quarantine list | tail -n 1
say skillvault stats --decision coding-01-08-00
for agent in builder tester; do
echo "{\"domain\": \"coding\", \"occurred_at\": \"2026-11-19T10:00:00Z\", \"decision\": {\"id\": \"case-1\", \"action\": \"fix\"}, \"result\": {\"status\": \"success\"}, \"source\": {\"agent\": \"$agent\"}}" > ../$agent.json
done
for agent in builder tester; do
skillvault record ../$agent.json --now 2026-11-20T12:10:00Z > /dev/null 2>&1
done
say skillvault stats --decision case-1
say skillvault stats --decision case-1 --agent builder
say skillvault check
