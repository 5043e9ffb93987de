"""Signal that comes with a preemption notice: a script that selects the receivers in a container."""

from typing import Final

# Names of programs that get no signal: what the image runs for the renter, and what a person works in. All of them
# catch SIGTERM, and would end by it or pass it on to the person's programs.
_SPARED: Final = (
    *("docker-init", "tini", "berth-entrypoin*", "sh", "sleep"),
    *("sshd*", "sftp-server", "jupyter*", "tensorboard", "mosh-server"),
    *("bash", "zsh", "fish", "dash", "ksh", "tmux*", "screen", "SCREEN"),
    *("vi", "vim", "nvim", "nano", "emacs", "less", "top"),
)

# SigCgt is a hexadecimal mask of the signals that a program catches: SIGTERM is its bit 14, in the fourth digit from
# the right. Notebook kernels have JPY_PARENT_PID in their environment.
WARN_SCRIPT: Final = f"""
for folder in /proc/[0-9]*; do
  pid=${{folder#/proc/}}
  [ "$pid" = 1 ] || [ "$pid" = $$ ] && continue
  read -r name 2>/dev/null <"$folder/comm" || continue
  case "$name" in {"|".join(_SPARED)}) continue ;; esac
  caught=
  while read -r key value; do [ "$key" = SigCgt: ] && caught=$value; done 2>/dev/null <"$folder/status"
  case "$caught" in *[4-7c-f]???) ;; *) continue ;; esac
  grep -qa JPY_PARENT_PID= "$folder/environ" 2>/dev/null && continue
  kill -TERM "$pid" 2>/dev/null
done
true
"""
