"""Multiplies matrices on each GPU (or the CPU, where none is expected): smoke.py GPUS RESULT_FILE."""
import json
import os
import sys

import torch

expected, path = int(sys.argv[1]), sys.argv[2]
# Small whole numbers: the product is exact in every order of summing, TF32 included.
matrix = torch.randint(-4, 5, (1024, 1024)).float()
product = matrix @ matrix
names, problems = {}, []
count = torch.cuda.device_count() if expected else 0
if count < expected:
    problems.append(f"torch sees {count} of {expected} GPUs")
for device in [f"cuda:{i}" for i in range(count)] or ["cpu"]:
    try:
        names[device] = torch.cuda.get_device_name(device) if count else "CPU"
        there = matrix.to(device)
        if not torch.equal((there @ there).cpu(), product):
            problems.append(f"{device} computes wrong results")
    except RuntimeError as error:
        problems.append(f"{device}: " + str(error).split("\n")[0])
with open(path + ".new", "w") as file:
    json.dump({"ok": not problems, "torch": torch.__version__, "devices": names, "problems": problems}, file)
os.replace(path + ".new", path)
sys.exit("; ".join(problems) or 0)
