# Three losses tell the same on three targets: three warnings, one evolved skill, a fourth
# loss that it takes in; a merge that a person reverts is not redone.
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
for target in SOL ARB DOGE; do
  sed "s/TARGET/$target/g; s/HOUR/$(echo $target | wc -c)/" ../loss.yaml > inbox/$target.yaml
  touch -d 2026-11-01 inbox/$target.yaml
done
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault skill list
say skillvault skill list --archived
say git log -1 --format=%B --grep '^merge:'
evolved=$(skillvault skill list | grep evolved | cut -d ' ' -f 1)
say skillvault why $evolved
sed "s/TARGET/WIF/g; s/HOUR/8/" ../loss.yaml > ../wif.yaml
say skillvault record ../wif.yaml --now 2026-11-20T12:20:00Z
say skillvault run --now 2026-11-20T12:20:00Z
say skillvault skill show $evolved
say git revert --no-edit $(git log --format=%H --grep '^merge:')
say skillvault run --now 2026-11-20T12:30:00Z
say skillvault skill list
say skillvault check
