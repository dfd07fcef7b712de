# What an agent says that it learned is kept and served in its words. A lesson whose evidence
# stands in the outcome is told as the agent's own; one whose evidence stands nowhere, as supposed.
say skillvault init vault --domain support --now 2026-11-05T12:00:00Z
cd vault
say skillvault record ../observed.yaml --now 2026-11-05T12:00:00Z
say skillvault record ../supposed.yaml --now 2026-11-05T12:00:00Z
say skillvault run --now 2026-11-05T12:00:00Z
for fact in $(skillvault fact list | sed -n 's/^  *\([^ ]*\).*/\1/p'); do
  say skillvault fact show $fact
done
say skillvault recommend --domain support --task "Refund the annual plan of a customer" --format xml -k 2 --now 2026-11-06T12:00:00Z
say skillvault run --now 2026-11-06T12:00:00Z
say skillvault check
