#!/usr/bin/env bash
# tests/packaging/scrub.sh FOLDER CHECKOUT [PATHS...]: removes everything that identifies this machine or its user from
# all files in FOLDER: the host name, the user name, the folders of the checkout, of the user and for temporary files
# (the real paths and the given ones; PATHS are other paths in the checkout), and the numbers of the GPUs.
set -uo pipefail
export LC_ALL=C
folder=$1
checkout=$2
shift 2
script=$(mktemp)
trap 'rm -f "$script"' EXIT

quoted() { printf '%s' "$1" | sed 's/[][\.*^$/(){}?+|]/\\&/g'; } # quoted TEXT: escaped for a regular expression
path() { # path TEXT INSTEAD: replaces this folder and everything below it
    case $1 in /?*) printf 's/%s(\/|[^A-Za-z0-9._-]|$)/%s\\1/g\n' "$(quoted "${1%/}")" "$(quoted "$2")" ;; esac
}
word() { # word TEXT INSTEAD: replaces the whole word; a name that is a common word only as part of a path
    local before='(^|[^A-Za-z0-9_-])' after='([^A-Za-z0-9_-]|$)'
    case $1 in
    '' | ?) return ;;
    root | user | users | test | tests | gpu | tt | build | runner | local | localhost | ubuntu) before='(\/)' after='(\/|$)' ;;
    esac
    printf 's/%s%s%s/\\1%s\\2/g\n' "$before" "$(quoted "$1")" "$after" "$2"
    printf 's/%s%s%s/\\1%s\\2/g\n' "$before" "$(quoted "$1")" "$after" "$2" # twice, for two with one character between
}
real() { readlink -f -- "$1" 2>/dev/null; }
checkouts() { # checkouts PATHS...: the checkout's paths with which they begin
    local name below
    for name; do
        below=$(real "$name")
        below=${below#"$(real "$checkout")"}
        echo "${name%"$below"}"
    done
}

{
    for name in "$(real "$checkout")" "$checkout"; do path "$name" .; done
    checkouts "$@" | while read -r name; do path "$name" .; done
    for name in "$(real "${HOME:-}")" "${HOME:-}"; do path "$name" '~'; done
    for name in "$(real "${TMPDIR:-}")" "${TMPDIR:-}"; do path "$name" /tmp; done
    for name in "$(uname -n)" "${HOSTNAME:-}" "${SLURMD_NODENAME:-}" "$(hostname -f 2>/dev/null)"; do
        word "$name" HOST
        word "${name%%.*}" HOST
    done
    for name in "$(id -un 2>/dev/null)" "${USER:-}" "${LOGNAME:-}" "${SUDO_USER:-}" "${SLURM_JOB_USER:-}"; do word "$name" USER; done
    echo 's/hostname="[^"]*"/hostname=""/g' # CTest's JUnit file
    echo 's/GPU-[0-9a-f]{8}[0-9a-f-]*/GPU-NUMBER/g'
} >"$script"
find "$folder" -type f -exec sed -E -i -f "$script" {} +
