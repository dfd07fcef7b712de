# Three losses tell the same on three targets: a warning each, and one line of the action's guide,
# which counts a fourth loss; a guide that a person reverts is not made again.
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
for target in SOL ARB DOGE; do
  sed "s/TARGET/$target/g; s/HOUR/$(echo $target | wc -c)/" ../loss.yaml > inbox/$target.yaml
  touch -d 2026-11-01 inbox/$target.yaml
done
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault skill list
guide=guide-perps-open-long
say git log -1 --format=%B --grep "^generate: $guide"
say skillvault why $guide
sed "s/TARGET/WIF/g; s/HOUR/8/" ../loss.yaml > ../wif.yaml
say skillvault record ../wif.yaml --now 2026-11-20T12:20:00Z
say skillvault run --now 2026-11-20T12:20:00Z
say skillvault skill show $guide
say git revert --no-edit $(git log --format=%H --grep "^refresh: $guide") \
  $(git log --format=%H --grep "^generate: $guide")
say skillvault run -v --now 2026-11-20T12:30:00Z
say skillvault skill list
say skillvault check
