#!/bin/sh
# Prints the lines of facts.txt that have one of the words given, of four letters or more.
set -f
words=$(printf '%s' "$1" | tr -s '[:space:][:punct:]' '\n' | grep '....') || words=
set --
for word in $words; do set -- "$@" -e "$word"; done
if [ $# -eq 0 ]; then
    echo "give a word of four letters or more" >&2
    exit 1
fi
grep -iF "$@" facts.txt
case $? in
    0) ;;
    1) echo "no fact has any of these words:" $words ;;
    *) exit 1 ;;
esac
