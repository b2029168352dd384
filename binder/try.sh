#!/bin/bash
# Does what Binder does, without Docker: a new environment with the pinned requirements, postBuild, start.
#
#     bash binder/try.sh HOME
#
# HOME is an empty folder that stands for the home folder of the image; run from the repository's root.
set -euo pipefail
export HOME=$1
python3 -m venv "$HOME/venv"
export PATH="$HOME/venv/bin:$PATH"
pip install --quiet -r binder/requirements.txt
pip check
./binder/postBuild
./binder/start python - <<'PYTHON'
import time

start = time.perf_counter()
import medn_edu

words = medn_edu.load_digit_words()
model = medn_edu.M3N().fit(words.data[:100], words.target[:100])
print(f"trained after {time.perf_counter() - start:.1f} s, gap {model.result_.relative_gap:.2g}")
PYTHON
./binder/start jupyter lab --version
./binder/start jupyter notebook --version
