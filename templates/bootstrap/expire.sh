#!/bin/bash
# The dead-man switch: ends the machine when its time is over, whatever else runs or does not run on it.
# A timer calls it every minute. To give the machine more time, write a later epoch second into expires_at.
set -euo pipefail
root=${GPUORCH_ROOT:-}
file=$root/var/lib/gpuorch/expires_at
boot_file=$root/run/gpuorch-boot # in memory: belongs to this boot
. "$root/etc/gpuorch/deployment.env"
now=$(date +%s)
boot=$((now - $(cut -d. -f1 "$root/proc/uptime")))

save() { # a full disk must not stop the switch
  { mkdir -p "${file%/*}" && echo "$1" >"$file.new" && mv "$file.new" "$file"; } || echo "$file could not be written"
}

number_in() { grep -Exsm1 '[1-9][0-9]{0,11}' "$1" || :; }

expires=$(number_in "$file")
if [ -z "$expires" ]; then
  # The first boot, or a damaged file. From this boot's begin: so it also ends where nothing can be written.
  expires=$((boot + TTL))
  save "$expires"
fi
was=$(number_in "$boot_file")
shift=$((boot - ${was:-boot}))
if [ "${shift#-}" -gt 60 ]; then
  echo "the clock was set by $shift seconds: the end moves with it"
  expires=$((expires + shift))
  save "$expires"
  was=''
fi
[ -n "$was" ] || echo "$boot" >"$boot_file" || :

[ "$now" -ge "$expires" ] || exit 0
echo "the time of this machine is over"
# Where powered off does not mean gone: whatever fails here is tried again in a minute.
[ -z "${END:-}" ] || exec timeout 200 "${END[@]}"
systemctl poweroff -i || systemctl poweroff --force
