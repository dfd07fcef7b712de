# By the designs' letter: two clones that both learn saw one loss and made the same warning of it; ada's loop merged it into
# an evolved skill later. Git would keep both, `archive/` and `skills/`: it would be served and
# archived at once. After `sync` it stands in archive/ in both clones, and `check` holds.
drop() { # DAY TARGET
  sed "s/DAY/$1/g; s/TARGET/$2/" ../loss.yaml > inbox/$1.yaml
  touch -d 2026-11-01 inbox/$1.yaml
}
git init -q --bare -b main team.git
skillvault init vault --domain perps --now 2026-11-01T12:00:00Z > /dev/null
cd vault
git config skillvault.clone ada
printf 'learner: all\nprofile: seed\n' >> vault.yaml
git commit -qam "Every clone learns, by the letter"
git remote add origin ../team.git
git push -q origin main
git clone -q ../team.git ../ben
drop 02 SOL-PERP
say skillvault run --now 2026-11-20T12:00:00Z
drop 03 ETH-PERP
drop 04 BTC-PERP
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault sync --now 2026-11-20T12:00:00Z
cd ../ben
mkdir inbox
drop 02 SOL-PERP
say skillvault run --now 2026-11-20T13:00:00Z
say ls skills
say skillvault sync --now 2026-11-20T13:00:00Z
say ls skills archive
say skillvault check
cd ../vault
say skillvault sync --now 2026-11-20T14:00:00Z
say skillvault run --now 2026-11-20T14:00:00Z
