# What a lead looks at on Monday: one old loss, a week with a claim that CI refused, a gain whose
# text is hostile. The week as Markdown, of all and of one domain; a page; a picture of nothing.
say skillvault init vault --domain coding --domain perps --now 2026-10-20T12:00:00Z
cd vault
head -n 1 ../trades.jsonl > ../old.jsonl
tail -n 2 ../trades.jsonl > ../new.jsonl
say skillvault import jsonl ../old.jsonl --now 2026-10-20T12:00:00Z
say skillvault run --now 2026-10-20T12:10:00Z
say skillvault import jsonl ../claims.jsonl ../new.jsonl --now 2026-11-04T12:00:00Z
say skillvault close d-1 --junit ../red.xml --by ci --now 2026-11-04T12:10:00Z
say skillvault run --now 2026-11-04T12:20:00Z
say skillvault report --md --now 2026-11-06T09:00:00Z
say skillvault report --md --domain perps --since 30d --now 2026-11-06T09:00:00Z
say skillvault report -o ../page.html --now 2026-11-06T09:00:00Z
say skillvault stats --plot ../lifts.svg || echo "exit code $?"
say skillvault report --serve --md || echo "exit code $?"
