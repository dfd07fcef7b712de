# A domain whose agents write in Chinese learns like any other: a guide, warnings, a fact.
say skillvault init vault --domain trading-cn --now 2026-11-20T12:00:00Z
cd vault
say skillvault record ../loss.yaml --now 2026-11-20T12:00:00Z
say skillvault run --now 2026-11-20T12:00:00Z
for target in 以太坊 狗狗币 比特币; do
  sed "s/SOL 永续/$target 永续/; s/周一/$target/" ../loss.yaml > inbox/$target.yaml
  touch -d 2026-11-01 inbox/$target.yaml
done
say skillvault run --now 2026-11-20T12:10:00Z
say skillvault skill list
say skillvault fact list
say skillvault check
