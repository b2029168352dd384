# Read by postBuild and start: the image is built on one machine and run on others, so the kernels are
# compiled for any CPU, and both must look for them in the same folder.
export NUMBA_CPU_NAME=generic
export NUMBA_CACHE_DIR="$HOME/.cache/medn_edu/numba"
