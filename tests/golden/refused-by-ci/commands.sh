# An agent says twice that the test passes; CI refuses the first. What is learned and served
# is what CI saw: the claim stays beside it and teaches nothing.
say skillvault init vault --domain coding --now 2026-11-04T12:00:00Z
cd vault
say skillvault import jsonl ../claims.jsonl --now 2026-11-04T12:00:00Z
for close in d-1:red d-2:green; do
  say skillvault close ${close%:*} --junit ../${close#*:}.xml --by ci --now 2026-11-04T12:10:00Z
done
say skillvault run --now 2026-11-04T12:20:00Z
say skillvault stats --decision d-1
say skillvault recommend --domain coding --task "The checkout test finds the queue empty in CI" --format xml --now 2026-11-04T13:00:00Z
