#!/bin/sh
# Prints the lines of articles.csv with that text in them: number, name.
if [ -z "$1" ]; then
    echo "give a part of an article's name" >&2
    exit 1
fi
sed 1d articles.csv | grep -iF -e "$1"
case $? in
    0) ;;
    1) echo "no article has this name: $1" ;;
    *) exit 1 ;;
esac
