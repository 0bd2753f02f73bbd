#!/usr/bin/env bash
# On a machine with a GPU: base, training and development files in device_data/. Calls in a row share build/.
#   device_run.sh trial              prepare, tokenise, and time a step with and without compiling
#   device_run.sh run "NAME ARGUMENTS" ...   train one network after the other, score each
set -eu
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PYTHONPATH=src:. PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true HF_HUB_DISABLE_PROGRESS_BARS=1 ORT_DISABLE_TELEMETRY=1
train() { python3 -m training.train --base build/base --pairs build "$@"; }
score() { python3 -m training.score --data build/dev --model "build/$1" --held build/held.jsonl.gz --out "$OUT/$1.npz" 2> /dev/null; }
way=$1; shift
if [ "$way" = trial ]; then
  mkdir -p build/base && tar xJf device_data/*.tar.xz -C build/base --strip-components 1
  python3 -m training.pairs --data device_data/train --out build > build/pairs.log
  cp -r device_data/dev build/dev
  train --out build/trial --steps 300 2>&1 | grep -v Load
  train --out build/trial --steps 700 --compile 2>&1 | grep -v Load
  train --out build/trial --steps 200 --disturb 0.5 2>&1 | grep -v Load
else
  [ -e build/shipped ] || python3 -m training.restore --model src/director_ai/nli/models/entailer --base build/base --out build/shipped 2> /dev/null
  for run in "$@"; do
    set -- $run
    name=$1; shift
    train --out "build/$name" "$@" > "build/$name.log" 2>&1 || tail -n 20 "build/$name.log"
    tail -n 2 "build/$name.log"
    (score "$name"; python3 -m training.evaluate "$OUT/$name.npz" | tail -n 1) &
  done
  wait
fi
cp build/*.log "$OUT"/ || true
