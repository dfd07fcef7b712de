# An untrusted source says the same 50 times: nothing of it leaves proposed/, and nothing
# trusted is promoted, supported or changed by it.
say skillvault init vault --domain coding --now 2026-11-20T12:00:00Z
cd vault
say skillvault record ../ours.yaml --now 2026-11-20T12:00:00Z
say skillvault run --now 2026-11-20T12:00:00Z
before=$(git rev-parse HEAD)
number=10
while [ $number -lt 60 ]; do
  sed "s/NUMBER/$number/" ../theirs.yaml > inbox/untrusted/$number.yaml
  touch -d 2026-11-01 inbox/untrusted/$number.yaml
  number=$((number + 1))
done
say skillvault run --now 2026-11-20T12:10:00Z
say skillvault skill list
say skillvault skill list --proposed
say skillvault fact list
say git diff --stat $before HEAD -- skills memory archive
say skillvault why-not 20261103t1010
say skillvault run -v --now 2026-11-20T12:20:00Z
say skillvault check
