#!/bin/bash
# The machine's local disks as one file system. Runs on every boot: their contents do not outlive a stop.
# A disk is used only if the image names it as local and it is blank or bears our own label.
set -euo pipefail
root=${GPUORCH_ROOT:-}
state=$root/var/lib/gpuorch
label=gpuorch-scratch
point=$root/mnt/scratch
poll=${GPUORCH_POLL:-5}
. "$root/etc/gpuorch/deployment.env"

use() { # PATH NOTE
  echo "$1" >"$state/scratch"
  echo "$2"
  exit 0
}

kind_of() { # DEVICE: blank, raid (ours), files (ours) or foreign
  local probe status=0
  probe=$(blkid -p -o export "$1") || status=$?
  case $status:$probe in
  # No signature; partitions or users of the device would be further lines.
  2:*) if [ "$(lsblk -nro NAME "$1" | wc -l)" = 1 ]; then echo blank; else echo foreign; fi ;;
  0:*TYPE=linux_raid_member*) if grep -Exq "LABEL=(.*:)?$label" <<<"$probe"; then echo raid; else echo foreign; fi ;;
  0:*) if grep -xq "LABEL=$label" <<<"$probe"; then echo files; else echo foreign; fi ;;
  *) echo foreign ;;
  esac
}

array_of() { # MEMBERS: the array that runs on them, or can be made to
  mdadm --assemble "/dev/md/$label" "$@" >/dev/null 2>&1 || : # fails where the boot has done so
  lsblk -nrpo NAME,TYPE "$1" | sed -n '/ raid0$/{s///p;q}'
}

links() { # the local disks' names; a disk may have several
  local pattern
  for pattern in "${LOCAL_DISKS[@]}"; do compgen -G "$root/dev/disk/by-id/$pattern" || :; done
}

mkdir -p "$state"
udevadm settle --timeout=60 || :
if [ -n "$SCRATCH" ]; then # the image mounts them itself, maybe only now
  for _ in {1..12}; do
    ! mountpoint -q "$SCRATCH" || use "$SCRATCH" "scratch is the image's $SCRATCH"
    [ -n "$(links)" ] || break
    sleep "$poll"
  done
  use "" "no scratch: the image has mounted nothing at $SCRATCH"
fi
! mountpoint -q "$point" || use "$point" "scratch is mounted already"

disks=() raid=() target='' seen=' '
while read -r link; do
  disk=$(readlink -f "$link")
  case "$seen" in *" $disk "*) continue ;; esac
  seen="$seen$disk "
  case $(kind_of "$disk") in
  blank) disks+=("$disk") ;;
  raid) disks+=("$disk") raid+=("$disk") ;;
  files) disks=("$disk" "${disks[@]}") target=$disk ;;
  *) echo "$disk is in use or holds data: left alone" ;;
  esac
done < <(links | grep -v -- '-part[0-9]*$' | sort)
count=${#disks[@]}
[ "$count" -gt 0 ] || use "" "no scratch: no free local disks"

if [ -z "$target" ] && [ "$count" -gt 1 ] && command -v mdadm >/dev/null; then
  [ "${#raid[@]}" = 0 ] || target=$(array_of "${raid[@]}")
  if [ -z "$target" ]; then
    target=/dev/md/$label
    mdadm --create "$target" --name="$label" --homehost=any --level=0 --raid-devices="$count" --run "${disks[@]}"
    udevadm settle --timeout=60 || :
  fi
else
  target=${disks[0]}
  [ "$count" = 1 ] || echo "only $target of $count local disks is used"
  count=1
fi
# Our label without the marker is a mkfs that was cut short.
case $(kind_of "$target"):$(cat "$state/scratch.made" 2>/dev/null) in
blank:* | files:)
  rm -f "$state/scratch.made"
  mkfs.ext4 -q -F -m 0 -L "$label" "$target"
  echo "$target" >"$state/scratch.made"
  ;;
esac
mkdir -p "$point"
mount -o noatime,discard "$target" "$point"
chmod 1777 "$point"
use "$point" "scratch is $point on $count local disk(s)"
