# By the designs' letter: a person edits a warning in one clone while the loop of the other, which learns, merges that
# warning into an evolved skill. Git would carry the edit into archive/, and no agent would see it.
# After `sync` the warning is served with the edit in both clones, and stays so while the evolved
# skill grows.
drop() { # DAY TARGET
  sed "s/DAY/$1/g; s/TARGET/$2/" ../loss.yaml > inbox/$1.yaml
  touch -d 2026-11-01 inbox/$1.yaml
}
git init -q --bare -b main team.git
skillvault init vault --domain perps --now 2026-11-01T12:00:00Z > /dev/null
cd vault
git config skillvault.clone ada
echo 'profile: seed' >> vault.yaml
git commit -qam "By the letter"
git remote add origin ../team.git
drop 02 SOL-PERP
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault sync --now 2026-11-20T12:00:00Z
git clone -q ../team.git ../ben
name=warning-perps-open-long-on-sol-perp-funding-is-high-at-0-08
drop 03 ETH-PERP
drop 04 BTC-PERP
say skillvault run --now 2026-11-20T12:00:00Z
say ls skills archive
say skillvault sync --now 2026-11-20T12:00:00Z
cd ../ben
git config skillvault.clone ben
printf '\n## Ask first\n\nMara watches the cascade.\n' >> skills/$name/SKILL.md
git commit -qam "Whom to ask"
say skillvault sync --now 2026-11-20T13:00:00Z
say skillvault run --now 2026-11-20T13:00:00Z
cd ../vault
say skillvault sync --now 2026-11-20T14:00:00Z
say skillvault recommend --domain perps
say skillvault check
say skillvault run --now 2026-11-20T14:00:00Z
drop 05 DOGE-PERP
say skillvault run --now 2026-11-21T12:00:00Z
say ls skills archive
say skillvault recommend --domain perps
say skillvault check
