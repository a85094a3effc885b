#!/bin/sh
# Saves $2 as the document $1. Readers see the old document or the new one, never a half.
name=${1#documents/}
case $name in
    "" | .* | */*)
        echo "name a document as documents/NAME, with no other slash and no dot at the start of NAME: $1" >&2
        exit 1
        ;;
esac
mkdir -p documents || exit 1
new="documents/.new.$$"
if printf '%s\n' "$2" > "$new" && mv -f "$new" "documents/$name"; then
    echo "saved documents/$name"
else
    rm -f "$new"
    exit 1
fi
