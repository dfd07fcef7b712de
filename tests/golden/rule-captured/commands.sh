# A rule is noted, captured, put back when its evidence is gone, and a pattern again when it is back.
mkdir app
for name in a b c d e; do printf 'log = get_logger()\n' > app/$name.py; done
git init -q app
git -C app add -A
git -C app commit -qm "Five modules"
say skillvault init vault --domain coding --now 2026-11-20T12:00:00Z
cd vault
printf 'capture:\n  code: [../app]\n' >> vault.yaml
git commit -qam "Say where the code is"
say skillvault learn 'Get loggers by `get_logger`, which names the request.'
say skillvault learn 'Never call `print` in a module.'
say skillvault run --now 2026-11-20T12:00:00Z
say cat LEARNINGS.md skills/learned/SKILL.md
say skillvault why get-loggers
git -C ../app rm -q c.py d.py e.py
git -C ../app commit -qm "Two modules"
say skillvault run capture --now 2026-11-21T12:00:00Z
say skillvault run capture --now 2026-11-22T18:00:00Z
git -C ../app commit -q --allow-empty -m "Go on"
say skillvault run capture --now 2026-11-22T18:00:00Z
say skillvault why-not 'get loggers'
say cat skills/learned/resources/expertise.yaml
for name in f g; do printf 'log = get_logger()\nprint(log)\n' > ../app/$name.py; done
git -C ../app add -A
git -C ../app commit -qm "Two more"
say skillvault run capture --now 2026-11-23T12:00:00Z
say skillvault learn --list
say skillvault check
