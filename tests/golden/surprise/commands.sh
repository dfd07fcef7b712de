# A careful decision fails all the same: the verdict was strong, and wrong. Once is enough for a
# fact of high importance, as what nobody expected teaches most.
say skillvault init vault --domain deploys --now 2026-11-03T12:00:00Z
cd vault
say skillvault record ../migration.yaml --now 2026-11-03T12:00:00Z
say skillvault run --now 2026-11-03T12:00:00Z
say skillvault fact list
say skillvault fact show $(skillvault fact list | sed -n 's/^  *\([^ ]*\).*/\1/p')
say skillvault why-not 20261103t103000z
say skillvault run --now 2026-11-03T12:10:00Z
say skillvault check
