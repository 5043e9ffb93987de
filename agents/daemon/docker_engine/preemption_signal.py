"""The signal that comes with a notice: who in a container gets it, as a script that its own shell runs."""

from typing import Final

# By the name of the program: what the image runs for the renter, and what a person sits in front of. All of them catch
# SIGTERM and would end by it, or pass it on to what a person works in.
_SPARED: Final = (
    *("docker-init", "tini", "berth-entrypoin*", "sh", "sleep"),
    *("sshd*", "sftp-server", "jupyter*", "tensorboard", "mosh-server"),
    *("bash", "zsh", "fish", "dash", "ksh", "tmux*", "screen", "SCREEN"),
    *("vi", "vim", "nvim", "nano", "emacs", "less", "top"),
)

# SigCgt is a mask of the signals that a program catches, in hexadecimal: SIGTERM is its bit 14, in the fourth digit from the
# right. Kernels of notebooks bear JPY_PARENT_PID.
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
