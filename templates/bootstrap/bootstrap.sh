#!/bin/bash
# Turns a fresh machine into one that trains: one pass over the steps, each done once.
# Ends with 0: ready. 1: try again (systemd does, see the unit). 2: failed for good.
set -euo pipefail
root=${GPUORCH_ROOT:-} # another root, for trials; every path below hangs on it
lib=$root/usr/local/lib/gpuorch
state=$root/var/lib/gpuorch
tries_file=$root/run/gpuorch-tries # in memory: a reboot starts the count again
venv=$root/opt/gpuorch/venv
torch=2.9.1
wheels=https://download.pytorch.org/whl
poll=${GPUORCH_POLL:-5}
driver_wait=${GPUORCH_DRIVER_WAIT:-900}
count_wait=${GPUORCH_COUNT_WAIT:-60}
smoke_wait=${GPUORCH_SMOKE_WAIT:-20}
max_tries=4
steps=(driver gpus persistence scratch python smoke ready)
PATH=$PATH:/opt/rocm/bin:/snap/bin
step=start number=0 since='' reported=''
. "$root/etc/gpuorch/deployment.env"
. "$lib/driver" # list_gpus, step_persistence, torch_build, wheel_folder

# --- telling -----------------------------------------------------------------------------------------------------
json() {
  local text
  text=$(LC_ALL=C tr -c ' -~' ' ' <<<"$1" | cut -c1-300 | sed 's/ *$//; s/[\\"]/\\&/g')
  printf '"%s"' "$text"
}

tell() { # to the journal and, on a line of its own, to the serial console
  echo "$1"
  { printf '\n%s\n' "$1" >>"$root/dev/console"; } 2>/dev/null || :
}

report() { # READY FAILED
  printf '{"deployment":"%s","step":"%s","number":%d,"total":%d,"since":"%s","ready":%s,"failed":%s}\n' \
    "$DEPLOYMENT" "$step" "$number" "${#steps[@]}" "$since" "$1" "$(json "$2")" >"$state/status.new"
  mv "$state/status.new" "$state/status.json"
  tell "gpuorch-status $(cat "$state/status.json")"
  [ "${#UPLOAD[@]}" = 0 ] || timeout 30 "${UPLOAD[@]}" >/dev/null 2>&1 || echo "the status could not be uploaded"
}

fail() { # KIND REASON
  reported=1
  rm -f "$tries_file"
  report false "$1: $2"
  tell "gpuorch-failed {\"deployment\":\"$DEPLOYMENT\",\"step\":\"$step\",\"kind\":\"$1\",\"reason\":$(json "$2")}"
  exit 2
}

retry() { # KIND REASON
  [ "$tries" -lt "$max_tries" ] || fail "$@"
  reported=1
  echo "$1: $2 (try $tries of $max_tries)"
  exit 1
}

ended() { # STATUS
  [ -n "$reported" ] || retry Unexpected "step $step ended with status $1"
}

last_line() { grep '[^[:space:]]' <<<"$1" | tail -n 1; }

# --- steps -------------------------------------------------------------------------------------------------------
step_driver() {
  local out
  [ -z "${INSTALL_DRIVER:-}" ] || list_gpus >/dev/null || out=$(timeout 1800 "${INSTALL_DRIVER[@]}" 2>&1) ||
    retry DriverMissing "$(last_line "$out")"
  until list_gpus >/dev/null; do
    [ "$SECONDS" -lt "$driver_wait" ] || fail DriverMissing "no $DRIVER driver after $driver_wait seconds"
    sleep "$poll"
  done
}

step_gpus() {
  local end=$((SECONDS + count_wait)) seen
  while seen=$(list_gpus | wc -l) || :; do
    [ "$seen" -lt "$GPUS" ] || break
    [ "$SECONDS" -lt "$end" ] || fail GpuCountShort "the driver shows $seen of $GPUS GPUs"
    sleep "$poll"
  done
  echo "$seen GPUs, $GPUS expected"
}

step_scratch() {
  local out
  out=$(bash "$lib/scratch" 2>&1) || retry ScratchFailed "$(last_line "$out")"
  echo "$out"
}

fits() { # PYTHON: torch imports and was built for this driver
  [ -n "$1" ] && timeout 300 "$1" -c "import torch; assert torch.$torch_build" 2>/dev/null
}

make_venv() {
  local base
  base=$(command -v python3.13 python3.12 python3.11 python3.10 | sed -n 1p)
  # What images with dnf call python3 is too old for torch.
  [ -n "$base" ] || { dnf -qy install python3.12 && base=python3.12; } || base=python3
  "$base" -m venv --clear "$venv" && return
  # Debian and Ubuntu keep half of the venv module in a package of its own.
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qo DPkg::Lock::Timeout=300 update
  apt-get -qyo DPkg::Lock::Timeout=300 install "$(basename "$base")-venv" && "$base" -m venv --clear "$venv"
}

step_python() {
  local python=$PYTHON folder out
  if ! fits "$python"; then
    [ -z "$python" ] || echo "no fitting torch in $python"
    python=$venv/bin/python
  fi
  if ! fits "$python"; then
    folder=$(wheel_folder) || fail DriverOld "$folder"
    out=$(make_venv 2>&1) || retry PythonFailed "no environment at $venv: $(last_line "$out")"
    out=$(timeout 1800 "$python" -m pip install -q --no-input --disable-pip-version-check \
      "torch==$torch" numpy --index-url "$wheels/$folder" 2>&1) ||
      retry PythonFailed "torch $torch for $folder: $(last_line "$out")"
    fits "$python" || retry PythonFailed "torch $torch for $folder does not import"
  fi
  echo "$python" >"$state/python"
  # For the shells of people who log in.
  # shellcheck disable=SC2016 # $PATH is theirs
  printf 'export GPUORCH_PYTHON=%q GPUORCH_SCRATCH=%q\nPATH=%q:$PATH\n' \
    "$python" "$(cat "$state/scratch")" "${python%/*}" >"$root/etc/profile.d/gpuorch.sh"
}

step_smoke() {
  local out wait
  for wait in "$smoke_wait" 0; do # twice: links may still be coming up
    out=$(timeout 900 "$(cat "$state/python")" "$lib/smoke.py" "$GPUS" "$state/smoke.json" 2>&1) && return
    sleep "$wait"
  done
  fail SmokeFailed "$(last_line "$out")"
}

step_ready() {
  report true ''
  tell "gpuorch-ready $DEPLOYMENT"
}

# --- the pass ----------------------------------------------------------------------------------------------------
[ ! -e "$state/bootstrap.done" ] || exit 0
mkdir -p "$state" "$root/run" "$root/opt/gpuorch" "$root/etc/profile.d"
tries=$(($(cat "$tries_file" 2>/dev/null || echo 0) + 1))
echo "$tries" >"$tries_file"
trap 'ended $?' EXIT
for step in "${steps[@]}"; do
  number=$((number + 1))
  [ ! -e "$state/$step.done" ] || continue
  since=$(date -u +%FT%TZ)
  [ "$step" = ready ] || report false ''
  # Killed each time (out of memory, say), the step never came to say so itself.
  [ "$tries" -le "$max_tries" ] || fail Unexpected "step $step was killed $max_tries times"
  "step_$step"
  touch "$state/$step.done"
done
[ -e "$state/ready.done" ] # an error in an expansion leaves the loop and goes on here
touch "$state/bootstrap.done"
reported=1
