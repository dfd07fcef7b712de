# What a person writes into a guide stays word for word, however often the program writes the
# guide anew: here three times, as each batch brings another deed. The other statements follow.
attempt() { # DAY TRIED ERROR
  sed "s/DAY/$1/g; s/TRIED/$2/; s/ERROR/$3/" ../attempt.yaml > inbox/$1.yaml
  touch -d 2026-11-01 inbox/$1.yaml
}
name=guide-coding-fix-flaky-test
say skillvault init vault --domain coding --now 2026-11-01T12:00:00Z
cd vault
attempt 02 "raise the timeout to 5 s" "AssertionError: 504 == 200"
say skillvault run --now 2026-11-02T12:00:00Z
ours='- Ours:  reproduce it with `make stress` first,\n  then  ask Mara - she wrote the payment stub.'
sed -i "s/^- The test fails about once.*/$ours/" skills/$name/SKILL.md
printf '\n## Who to ask\n\nMara, at any time.\n' >> skills/$name/SKILL.md
git commit -qam "Our way with this test"
say git show --format=%s -- skills/$name
attempt 03 "retry the payment three times" "sqlite3.OperationalError: database is locked"
attempt 04 "retry the payment five times" "sqlite3.OperationalError: database is locked"
say skillvault run --now 2026-11-04T12:00:00Z
attempt 05 "freeze the clock at noon" "KeyError: 'rate_of_day'"
say skillvault run --now 2026-11-05T12:00:00Z
attempt 06 "start the stub in a thread of its own" "ConnectionRefusedError: port 8080"
say skillvault run --now 2026-11-06T12:00:00Z
say git log --reverse --format=%s -- skills/$name
say git diff $(git log --format=%H --grep 'Our way') HEAD -- skills/$name
say skillvault check
