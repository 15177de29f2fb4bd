# NVIDIA GPUs.
torch_build=version.cuda

list_gpus() { # one line a GPU; fails while there is no driver
  local out
  out=$(timeout 120 nvidia-smi -L 2>/dev/null) || return 1
  grep '^GPU ' <<<"$out" || :
}

has_unit() { systemctl cat "$1" >/dev/null 2>&1; }

step_persistence() { # keep the driver loaded between jobs, and the NVSwitch fabric up
  { has_unit nvidia-persistenced && systemctl enable --now nvidia-persistenced; } ||
    timeout 120 nvidia-smi -pm 1 || echo "persistence mode could not be set"
  # Many images carry this unit also on machines without an NVSwitch, where it cannot start: no failure by itself.
  has_unit nvidia-fabricmanager || return 0
  systemctl enable --now nvidia-fabricmanager || :
  systemctl is-active --quiet nvidia-fabricmanager || ! compgen -G "$root/dev/nvidia-nvswitch*" >/dev/null ||
    retry FabricDown "the machine has NVSwitches and nvidia-fabricmanager does not run"
}

wheel_folder() { # of the wheel index, or why there is none
  local gpu version folder=cu126 least=525
  gpu=$(timeout 120 nvidia-smi --query-gpu=compute_cap,driver_version --format=csv,noheader | sed -n 1p)
  version=${gpu##*, }
  # Blackwell is in no build for CUDA 12.6; Volta is leaving those for 12.8.
  [ "${gpu%%.*}" -lt 10 ] || folder=cu128 least=570
  [ "${version%%.*}" -ge "$least" ] || { echo "driver $version: torch for $folder needs $least" && return 1; }
  echo "$folder"
}
