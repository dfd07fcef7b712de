# A domain in which nothing ever succeeds still learns: its guide says what to avoid, once, with its
# count; no strategy is made of a rate alone.
say skillvault init vault --domain ops --now 2026-11-20T12:00:00Z
cd vault
for number in 10 11 12 13 14 15 16 17 18 19 20 21; do
  sed "s/NUMBER/$number/g" ../failure.yaml > inbox/$number.yaml
  touch -d 2026-11-01 inbox/$number.yaml
done
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault skill list
say skillvault fact list
say skillvault status
say skillvault run -v --now 2026-11-20T12:10:00Z
say skillvault check
