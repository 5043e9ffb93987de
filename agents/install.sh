#!/bin/sh
# Makes this machine a host of a Berth market: installs the agent, enrols, and has systemd run it.
#
#   sh install.sh --url URL --token TOKEN --release SHA256 --release-key KEY [options of `berth-agent enrol`]
#
# For Debian 12 and Ubuntu 24.04 or later, as root. What comes from the market is checked by the digest of the release, which
# stands in the command; what the agent needs comes from the package index of this machine, locked by hash.
# Typed again it goes on where it was.
set -eu

PREFIX=${BERTH_PREFIX:-/opt/berth-agent}
STATE=${BERTH_STATE:-/var/lib/berth-agent}
UNIT=/etc/systemd/system/berth-agent.service

die() {
    echo "install: $*" >&2
    exit 1
}

url='' token='' release='' key=''
while [ $# -gt 0 ]; do
    case $1 in
        --url) url=${2%/} && shift 2 ;;
        --token) token=$2 && shift 2 ;;
        --release) release=$2 && shift 2 ;;
        --release-key) key=$2 && shift 2 ;;
        *) break ;;
    esac
done
[ -n "$url" ] && [ -n "$token" ] && [ -n "$release" ] && [ -n "$key" ] \
    || die "needs --url, --token, --release and --release-key, in the command that the market shows"
[ "$(id -u)" = 0 ] || die "must run as root: put sudo before sh"

# What the system lacks. Python's own venv needs ensurepip, which Debian has in a package of its own.
missing=''
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing="$missing ca-certificates"
command -v mkfs.ext4 >/dev/null || missing="$missing e2fsprogs"
command -v iptables >/dev/null || missing="$missing iptables"
command -v losetup >/dev/null || missing="$missing util-linux mount"
if [ -n "$missing" ]; then
    command -v apt-get >/dev/null || die "lacks$missing, and there is no apt-get: install them first"
    echo "install: installing$missing"
    apt-get update -qq
    # shellcheck disable=SC2086  # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "needs Python 3.11 or later: Debian 12, Ubuntu 24.04"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
    python3 - "$url/agent/v1/release/$1" "$work/$1" <<'PYTHON' || die "$url does not serve $1"
import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=60) as answer, open(sys.argv[2], "wb") as file:
    shutil.copyfileobj(answer, file)
PYTHON
}
check() {
    echo "$1  $work/$2" | sha256sum --check --status || die "$2 is not what the command was made for; get a new one from the market"
}
field() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/release.json" "$1"
}

fetch release.json
check "$release" release.json
wheel=$(field wheel)
version=$(field version)
digest=$(field wheel_sha256)
target="$PREFIX/versions/$version-$(echo "$digest" | cut -c1-12)"
if [ ! -e "$target/.whole" ]; then
    fetch "$wheel"
    check "$digest" "$wheel"
    fetch requirements.txt
    check "$(field requirements_sha256)" requirements.txt
    echo "install: agent $version into $target"
    rm -rf "$target"
    mkdir -p "$PREFIX/versions"
    python3 -m venv "$target"
    "$target/bin/pip" --disable-pip-version-check install --quiet --require-hashes -r "$work/requirements.txt"
    "$target/bin/pip" --disable-pip-version-check install --quiet --no-deps --no-index "$work/$wheel"
    touch "$target/.whole"
fi
[ -e "$PREFIX/current" ] || ln -s "$target" "$PREFIX/current"
agent="$PREFIX/current/bin/berth-agent"
ln -sf "$agent" /usr/local/bin/berth-agent

"$agent" doctor --url "$url" --state-dir "$STATE" || echo "install: the problems above keep renters away; enrolling all the same"
if [ ! -e "$STATE/agent.json" ]; then
    "$agent" enrol --url "$url" --token "$token" --release-key "$key" --state-dir "$STATE" "$@"
fi
mkdir -p "$(dirname "$UNIT")"
"$agent" install --state-dir "$STATE" >"$UNIT"
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl enable --quiet --now berth-agent
    echo "install: the agent runs; its log: journalctl -fu berth-agent"
else
    echo "install: no systemd runs here. Start the agent with: $agent run --state-dir $STATE"
fi
