# A hard domain's helpful skill is not retired for its low rate, an easy domain's useless one not
# proven for its high one, and two skills that are always applied together share what they earn.
skillvault init vault --domain hard --domain easy --domain pairs --now 2026-10-01T12:00:00Z > /dev/null 2>&1
cd vault
for name in hard-helpful easy-useless pairs-one pairs-two; do
mkdir -p "skills/$name"
printf -- '---\nname: %s\ndescription: What to do.\nmetadata:\n  domain: %s\n---\n\nDo it.\n' "$name" "${name%%-*}" > "skills/$name/SKILL.md"
done
git add skills
GIT_COMMITTER_DATE=2026-10-01T13:00:00Z git commit -qm "Four skills of ours"
python "$GOLDEN/decisions.py" 2026-11-01T00:00:00Z hard :2:40 hard-helpful:12:40 --receipts inbox > ../hard.jsonl
python "$GOLDEN/decisions.py" 2026-11-01T00:00:00Z easy :38:40 easy-useless:38:40 --receipts inbox > ../easy.jsonl
python "$GOLDEN/decisions.py" 2026-11-01T00:00:00Z pairs :16:40 pairs-one+pairs-two:32:40 --receipts inbox > ../pairs.jsonl
skillvault run record --now 2026-11-20T12:00:00Z > /dev/null 2>&1
skillvault import jsonl ../hard.jsonl ../easy.jsonl ../pairs.jsonl --now 2026-11-20T12:00:00Z
say skillvault run assess --now 2026-11-20T12:00:00Z
say skillvault stats
say skillvault check
