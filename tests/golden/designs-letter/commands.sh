# The designs' letter: a skill for each loss, named by its title; two and a third that say the same
# become one; a strategy of the latest; no budget and no task decide what is served; the day of the
# run decides what is over. The default's rules then take the vault over, and give it back.
say skillvault init vault --domain perps --now 2026-11-20T12:00:00Z
cd vault
say sed -i '$a profile: seed' vault.yaml
say git commit -qam "By the letter"
for day in 1 2; do
  sed "s/TARGET/SOL/g; s/DAY/0$day/" ../loss.yaml > inbox/$day.yaml
  touch -d 2026-11-01 inbox/$day.yaml
done
say skillvault run --now 2026-11-20T12:00:00Z
say skillvault skill list
sed "s/TARGET/SOL/g; s/DAY/03/" ../loss.yaml > ../third.yaml
say skillvault record ../third.yaml --now 2026-11-20T12:10:00Z
say skillvault run --now 2026-11-20T12:10:00Z
for day in 4 5 6 7 8 9 10; do
  sed "s/DAY/$(printf %02d $day)/; s/SCORE/0.0$day/" ../gain.yaml > inbox/$day.yaml
  touch -d 2026-11-01 inbox/$day.yaml
done
say skillvault run --now 2026-11-20T12:20:00Z
say skillvault skill list
say skillvault why-not $(basename $(ls outcomes/perps/2026/11/04/*) .yaml)
say skillvault recommend --domain perps --task "Book a flight to Lisbon" --explain
say skillvault run --now 2026-11-20T12:30:00Z
say skillvault run expire --now 2027-05-20T12:00:00Z
say sed -i 's/profile: seed/profile: lift/' vault.yaml
say git commit -qam "By what was learned since"
say skillvault run --now 2027-05-20T12:00:00Z
say skillvault skill list
say sed -i 's/profile: lift/profile: seed/' vault.yaml
say git commit -qam "By the letter again"
say skillvault run --now 2027-05-20T12:00:00Z
say skillvault check
