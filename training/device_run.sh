#!/usr/bin/env bash
# On a machine with a GPU and the data in device_data/. Two calls in a row share build/.
#   device_run.sh teach SECONDS     two teachers side by side
#   device_run.sh distil SECONDS    a student of 12 layers and one of 6, side by side, then int8 copies and all scores
set -eu
export PYTHONPATH=src:. PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true
seconds=$2
train() { python3 -m training.train --base build/base --pairs build --seconds "$seconds" --compile "$@"; }
score() { python3 -m training.score --data device_data/dev --model "build/$1" --held build/held.jsonl.gz --out "$OUT/$1.npz" 2> /dev/null; }
if [ "$1" = teach ]; then
  mkdir -p build/base && tar xJf device_data/*.tar.xz -C build/base --strip-components 1
  python3 -m training.pairs --data device_data/train --out build > build/pairs.log
  train --out build/teacher-1 --seed 1 --rate 1.5e-4 > build/teacher-1.log 2>&1 &
  train --out build/teacher-2 --seed 2 --rate 2.5e-4 > build/teacher-2.log 2>&1 &
  wait
  tail -qn 2 build/teacher-*.log
  score teacher-1 & score teacher-2 & wait
  python3 -m training.evaluate "$OUT"/teacher-1.npz | tail -n 1
  python3 -m training.evaluate "$OUT"/teacher-2.npz | tail -n 1
  python3 -m training.evaluate "$OUT"/teacher-*.npz
else
  teachers="--teachers build/teacher-1 build/teacher-2"
  train --out build/student-12 --seed 3 $teachers > build/student-12.log 2>&1 &
  train --out build/student-6 --seed 4 --layers 6 --rate 3e-4 $teachers > build/student-6.log 2>&1 &
  wait
  tail -qn 2 build/student-*.log
  score student-12 & score student-6 &
  for depth in 12 6; do python3 -m training.quantise --model build/student-$depth --out build/int8-$depth 2> /dev/null & done
  wait
  for depth in 12 6; do
    python3 -m training.evaluate "$OUT"/student-$depth.npz | tail -n 1
    split -b 15M -d build/int8-$depth/model.onnx "$OUT/int8-$depth.part"
  done
  python3 -m training.evaluate "$OUT"/student-12.npz
fi
cp build/*.log "$OUT"/ || true
