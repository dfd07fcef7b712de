# Prepares the place of try.tape: a home folder with the transcripts of a week's sessions.
cp -r .venv/week/home/.claude ~ && cd || return
clear
