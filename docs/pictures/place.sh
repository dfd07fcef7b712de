# Prepares the place of try.tape: a new vault in a temporary folder, of a person whom git knows.
git config --global user.name Ada
git config --global user.email ada@example.org
cd "$(mktemp -d)" || return
skillvault init my-vault --domain coding 2> /dev/null
cd my-vault || return
clear
