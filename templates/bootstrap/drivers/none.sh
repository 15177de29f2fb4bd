# A machine without a GPU.
torch_build=__version__

list_gpus() { :; }

step_persistence() { :; }

wheel_folder() { echo cpu; }
