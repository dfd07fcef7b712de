# Of 60 outcomes a third applied a skill that helps, a third one that hurts; a text that a person
# rewrites starts again, with the old evidence as what is believed before.
skillvault init vault --domain coding --now 2026-10-01T12:00:00Z > /dev/null 2>&1
cd vault
for name in reproduce-first raise-the-timeout; do
mkdir -p "skills/$name"
printf -- '---\nname: %s\ndescription: What to do first.\nmetadata:\n  domain: coding\n---\n\nDo it.\n' "$name" > "skills/$name/SKILL.md"
done
git add skills
GIT_COMMITTER_DATE=2026-10-01T13:00:00Z git commit -qm "Two skills of ours"
python "$GOLDEN/decisions.py" 2026-11-01T00:00:00Z coding :10:20 reproduce-first:18:20 raise-the-timeout:3:20 --receipts inbox > ../given.jsonl
skillvault run record --now 2026-11-20T12:00:00Z > /dev/null 2>&1
skillvault import jsonl ../given.jsonl --now 2026-11-20T12:00:00Z
say skillvault run assess --now 2026-11-20T12:00:00Z
say skillvault stats
say skillvault run assess --now 2026-11-20T12:05:00Z
skillvault import jsonl ../given.jsonl --now 2026-11-20T12:06:00Z
say skillvault run assess --now 2026-11-20T12:06:00Z
sed -i 's/^Do it.$/Write the failing test before the fix./' skills/reproduce-first/SKILL.md
git commit -qam "Say it better"
python "$GOLDEN/decisions.py" 2026-11-20T14:00:00Z coding reproduce-first:2:4 --receipts inbox > ../then.jsonl
skillvault run record --now 2026-11-21T12:00:00Z > /dev/null 2>&1
skillvault import jsonl ../then.jsonl --now 2026-11-21T12:00:00Z
say skillvault run assess --now 2026-11-21T12:00:00Z
say skillvault stats reproduce-first
say skillvault check
