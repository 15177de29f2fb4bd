# AMD GPUs. A GPU of two dies is two here, as the driver and torch count them.
torch_build=version.hip

list_gpus() { # one line a GPU; fails while there is no driver
  local out
  if out=$(timeout 120 amd-smi list 2>/dev/null); then
    grep '^GPU: ' <<<"$out" || :
  else
    out=$(timeout 120 rocm-smi --showid 2>/dev/null) || return 1
    grep -o '^GPU\[[0-9]*\]' <<<"$out" | sort -u
  fi
}

step_persistence() { :; } # the driver stays loaded by itself

wheel_folder() { echo rocm6.4; }
