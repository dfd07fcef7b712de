# A pattern that a person takes away is not promoted again, however often the rule is noted.
mkdir app
for name in a b c; do printf 'log = get_logger()\n' > app/$name.py; done
say skillvault init vault --domain coding --now 2026-11-20T12:00:00Z
cd vault
say skillvault learn 'Get loggers by `get_logger`, which names the request.'
say skillvault run capture --code ../app --now 2026-11-20T12:00:00Z
say git revert --no-edit HEAD
say skillvault run capture --code ../app --now 2026-11-20T12:10:00Z
say skillvault learn 'Get loggers by `get_logger`, which names the request!'
say skillvault run capture --code ../app --now 2026-11-20T12:20:00Z
say skillvault why-not 'get loggers'
say skillvault check
