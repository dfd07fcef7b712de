# A lead lets a guide in; what the program would say later waits beside it, and they decide again.
dump='Restore the nightly dump into a new instance and switch the service over.'
record() { sed "s/DAY/$1/g; s/CAUSE/$2/g; s/DEED/${3:-$dump}/" ../backup.yaml | skillvault record - --now "2026-11-$1T12:00:00Z" > /dev/null 2>&1; }
learn() { say skillvault run --now "2026-11-$1T12:00:00Z"; }
skillvault init vault --domain ops --now 2026-11-01T12:00:00Z > /dev/null 2>&1
cd vault
echo 'generate: {gate: always}' >> vault.yaml
git commit -qam 'Let nothing in unseen'
record 01 'the dump is older than the schema'
record 02 'the dump is older than the schema'
learn 02
name=guide-ops-restore-backup
say skillvault skill approve $name --now 2026-11-02T13:00:00Z
record 03 'the disk of the new instance is full'
record 04 'the disk of the new instance is full'
learn 04
say skillvault skill show $name
say skillvault skill diff $name-next
say skillvault review
say skillvault skill reject $name-next --reason 'that disk was a test' --now 2026-11-04T13:00:00Z
record 05 'the disk of the new instance is full'
learn 05
say skillvault skill list --proposed
say skillvault why-not 20261105t100000z
record 06 'the password had been rotated' 'Replay the log of the day onto the replica.'
learn 06
say skillvault skill approve $name-next --now 2026-11-06T13:00:00Z
learn 06
say skillvault skill show $name
say skillvault why $name
say skillvault log
say skillvault check
