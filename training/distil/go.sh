#!/usr/bin/env bash
# go.sh unpack PART | prepare tokens|extra|eval [LIMIT] | start [pipeline arguments] | status [LINES] | wait SECONDS [MARKER] | fetch N
# Files live in $KEPT (outside the repository), so that they stay between calls.
set -u
KEPT=${KEPT:-/root/kept}
PY=${PY:-python3}
W=$KEPT/work
mkdir -p "$KEPT" "$W"
export PYTHONPATH=$KEPT/code/src:$KEPT/code PYTHONUNBUFFERED=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PYTORCH_ALLOC_CONF=expandable_segments:True \
  HF_HUB_OFFLINE=1 HF_HUB_DISABLE_PROGRESS_BARS=1 ORT_DISABLE_TELEMETRY=1 TOKENIZERS_PARALLELISM=false
way=${1:-status}; shift || true
case $way in
unpack)  # the folder of one part; whatever can be put together is
  cp -r "$1"/. "$KEPT"/
  whole() {  # whole NAME TO: the parts of one gzipped file, when its last is there
    [ -f "$KEPT/$1.sha256" ] && [ ! -f "$2" ] && cat "$KEPT/$1".gz.* | gzip -d > "$2.part" 2> /dev/null &&
      echo "$(cat "$KEPT/$1.sha256")  $2.part" | sha256sum -c --quiet && mv "$2.part" "$2"
  }
  mkdir -p "$KEPT/data"
  [ -f "$KEPT/code.tar.xz" ] && [ ! -d "$KEPT/code" ] && mkdir "$KEPT/code" && tar xJf "$KEPT/code.tar.xz" -C "$KEPT/code"
  whole entailer "$KEPT/data/entailer.onnx"
  whole mpnet "$KEPT/data/mpnet.npz"
  whole teacher "$W/teacher.npz"
  for name in pairs.jsonl.xz held.json; do [ -f "$KEPT/$name" ] && mv "$KEPT/$name" "$W/$name"; done
  ls -la "$KEPT" "$KEPT/data" "$W"; nvidia-smi -L 2>/dev/null; nproc ;;
prepare)  # tokens | extra | eval: from pairs.jsonl.xz, data/train and data/dev
  cd "$KEPT/code"
  setsid nohup $PY -m training.distil.prepare "$1" --data "$KEPT/data" --work "$W" ${2:+--limit $2} ${WORKERS:+--workers $WORKERS} > "$KEPT/prepare-$1.log" 2>&1 < /dev/null &
  echo started ;;
start)
  cd "$KEPT/code"
  rm -f "$W"/*.phase "$W/all.done"
  setsid nohup $PY -m training.distil.pipeline --data "$KEPT/data" --work "$W" --out "$W/sparts" "$@" >> "$KEPT/log" 2>&1 < /dev/null &
  echo started ;;
status)
  tail -n 2 "$KEPT"/prepare-*.log 2>/dev/null | cut -c1-300; tail -n "${1:-25}" "$KEPT/log" 2>/dev/null | cut -c1-1500; ls "$W"
  nvidia-smi --query-gpu=utilization.gpu,memory.used,power.draw --format=csv,noheader 2>/dev/null ;;
wait)  # so many seconds at most, until a file is in the work folder or the pipeline is no more
  end=$((SECONDS + $1))
  while [ $SECONDS -lt $end ] && [ ! -e "$W/${2:-all.done}" ]; do sleep 1; done
  bash "$0" status 30 ;;
fetch)
  cd "$W"
  case $1 in
  1) cp $(ls tparts/* | head -n 4) "$OUT"/ ;;
  2) cp $(ls tparts/* | tail -n +5 | head -n 4) "$OUT"/; sha256sum teacher.npz > "$OUT/teacher.sha256"; cp "$KEPT/log" "$OUT/log.txt" ;;
  3) cp sparts/* "$OUT"/; cp "$KEPT/log" "$OUT/log.txt"; cp eval-logits.npz "$OUT"/; tar cf "$OUT/reports.tar" figures.txt figures.json answers.json teacher-log.json student-log.json -C "$KEPT" $(cd "$KEPT" && ls prepare-*.log) ;;
  esac
  ls -la "$OUT" ;;
esac
