"""Scripts for files in a container, in plain sh with the programs of coreutils or busybox.

Paths are passed as arguments, encoded by `encode_path` and decoded by `at`, so that any name that Linux allows is kept:
spaces, quotes, line breaks, leading dashes, bytes that are not UTF-8. Nothing that a renter names is ever part of a
script.

Each script first writes its process id, so that it can be killed. It writes why it refuses to its error output, as
`berth:<code>`.
"""

from typing import Final

TOKEN_ENV: Final = "BERTH_FILES"  # noqa: S105 a name
MOST_ENTRIES: Final = 5000
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - {ord("\\")}

_COMMON: Final = r"""
printf '%s\n' "$$"
at() { got=$(printf '%b.' "$1"); got=${got%.}; }
die() { printf 'berth:%s\n' "$1" >&2; exit 9; }
there() { [ -e "$1" ] || [ -L "$1" ]; }
"""

# $1 folder, $2 a separator that is in no name, $3 the maximum of entries
LIST: Final = (
    _COMMON
    + r"""
at "$1"; mark=$2; most=$3
there "$got" || die missing
[ -d "$got" ] || die not_folder
cd "$got" || exit 1
df -Pk . 2>/dev/null | tail -n 1
look() {
  how=$1; count=0; set --
  for each in * .[!.]* ..?*; do
    [ -L "$each" ] || { [ -z "$how" ] && [ -e "$each" ]; } || continue
    count=$((count + 1))
    [ "$count" -le "$most" ] || { printf '%s!' "$mark"; break; }
    set -- "$@" "./$each"
    [ $# -lt 200 ] || { stat $how -c "$mark$how %f %s %Y %n" "$@"; set --; }
  done
  [ $# = 0 ] || stat $how -c "$mark$how %f %s %Y %n" "$@"
}
command -v stat >/dev/null || die no_words
look ''
look -L 2>/dev/null
exit 0
"""
)

# $1 path, $2 the first byte wanted, counted from 0
READ: Final = (
    _COMMON
    + r"""
at "$1"
there "$got" || die missing
if [ -d "$got" ]; then
  cd "$got" || exit 1
  real=$(pwd -P; printf .); real=${real%??}
  case $real in / | /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) die not_kept ;; esac
  command -v tar >/dev/null || die no_tar
  printf 'folder 0 0\n'
  cd "${real%/*}/" || exit 1
  exec tar -cf - "./${real##*/}"
fi
[ -f "$got" ] || die not_file
[ -r "$got" ] || die forbidden
stat -L -c 'file %s %Y' "$got" || exit 1
[ "$2" = 0 ] && exec cat "$got"
exec tail -c "+$(($2 + 1))" "$got"
"""
)

_MAY: Final = r"""
may() {
  [ ! -d "$1" ] || die is_folder
  [ "$2" = 1 ] || ! there "$1" || die exists
}
"""

# $1 folder, $2 incomplete file, $3 final path, $4 bytes, $5 1 to replace, $6 1 to make the folder
WRITE: Final = (
    _COMMON
    + _MAY
    + r"""
at "$1"; folder=$got; at "$2"; part=$got; at "$3"; final=$got
[ "$6" = 0 ] || mkdir -p "$folder" || exit 1
[ -d "$folder" ] || die missing
may "$final" "$5"
command -v stat >/dev/null || die no_words
have=0
[ ! -f "$part" ] || have=$(stat -c %s "$part") || exit 1
[ "$have" -le "$4" ] || { rm -f "$part" || exit 1; have=0; }
free=$(df -Pk "$folder" 2>/dev/null | tail -n 1 | while read -r _ _ _ left _; do echo "$left"; done)
case $free in '' | *[!0-9]*) ;; *) [ "$((($4 - have) / 1024))" -le "$free" ] || die no_room ;; esac
: >>"$part" || exit 1
printf '%s\n' "$have"
cat >>"$part" || { why=$?; rm -f "$part"; printf 'berth-over\n' >&2; exit "$why"; }
"""
)

# $1 incomplete file, $2 final path, $3 bytes, $4 sha256 or nothing, $5 1 to replace
FINISH: Final = (
    _COMMON
    + _MAY
    + r"""
at "$1"; part=$got; at "$2"; final=$got
may "$final" "$5"
[ "$(stat -c %s "$part")" = "$3" ] || die short
sum=
command -v sha256sum >/dev/null && { sum=$(sha256sum <"$part") || exit 1; }
sum=${sum%% *}
[ -z "$4" ] || [ -z "$sum" ] || [ "$4" = "$sum" ] || { rm -f "$part"; die checksum_differs; }
[ -L "$final" ] || {
  owner=$(stat -c %u:%g "$final" 2>/dev/null) && chown "$owner" "$part" 2>/dev/null
  mode=$(stat -c %a "$final" 2>/dev/null) && chmod "$mode" "$part"
}
mv -f "$part" "$final" || exit 1
printf 'done %s\n' "$sum"
"""
)

# $1 folder, $2 1 to make it; the archive comes as input
UNPACK: Final = (
    _COMMON
    + r"""
at "$1"; folder=$got
[ "$2" = 0 ] || mkdir -p "$folder" || exit 1
there "$folder" || die missing
[ -d "$folder" ] || die not_folder
command -v tar >/dev/null || die no_tar
cd "$folder" || exit 1
printf '0\n'
tar -xof - || { why=$?; printf 'berth-over\n' >&2; exit "$why"; }
exec cat >/dev/null
"""
)

# $1 path
MAKE_FOLDER: Final = (
    _COMMON
    + r"""
at "$1"
there "$got" && die exists
mkdir "$got"
"""
)

# $1 from, $2 to
MOVE: Final = (
    _COMMON
    + r"""
at "$2"; to=$got; at "$1"
there "$got" || die missing
there "$to" && die exists
mv "$got" "$to"
"""
)

# Any number of paths. Mount points are refused: they are no files of the renter's, and deleting what is mounted there
# would be a surprise.
REMOVE: Final = (
    _COMMON
    + r"""
whole() {
  real=$(cd "${1%/*}/" 2>/dev/null && pwd -P) || return 1
  real=${real%/}/${1##*/}
  while read -r _ _ _ _ point _; do
    [ "$point" != "$real" ] || die mounted
    case $point in "$real"/*) die mounted ;; esac
  done </proc/self/mountinfo
}
for each; do at "$each"; whole "$got"; done
for each; do at "$each"; rm -rf "$got" || exit 1; done
"""
)

# $1 path
SIZE: Final = (
    _COMMON
    + r"""
at "$1"
there "$got" || die missing
[ -f "$got" ] || die not_file
exec stat -L -c %s "$got"
"""
)

# $1 path
SUM: Final = (
    _COMMON
    + r"""
at "$1"
command -v sha256sum >/dev/null || die no_words
exec sha256sum <"$got"
"""
)

# $1 process id, $2 the token in its environment: the id alone may belong to another process by now
END: Final = rf"""
tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | grep -qx "{TOKEN_ENV}=$2" || exit 0
kill -TERM "-$1" 2>/dev/null || kill -TERM "$1"
"""


def encode_path(path: bytes) -> str:
    """Encode a path for `at`: all but plain characters in octal."""
    return "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in path)
