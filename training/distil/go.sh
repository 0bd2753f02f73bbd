#!/usr/bin/env bash
# go.sh unpack PART | prepare [LIMIT] | start [pipeline arguments] | status [LINES] | wait SECONDS [MARKER] | fetch N
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
  [ -f "$KEPT/code.tar.xz" ] && [ ! -d "$KEPT/code" ] && tar xJf "$KEPT/code.tar.xz" -C "$KEPT"
  if [ -f "$KEPT/entailer.onnx.xz" ] && [ ! -f "$KEPT/data/entailer.onnx" ]; then
    $PY -c "import lzma,sys;open(sys.argv[2],'wb').write(lzma.open(sys.argv[1]).read())" "$KEPT/entailer.onnx.xz" "$KEPT/data/entailer.onnx.part" && mv "$KEPT/data/entailer.onnx.part" "$KEPT/data/entailer.onnx"
  fi
  if [ -f "$KEPT/mpnet.gz.0" ] && [ -f "$KEPT/mpnet.gz.1" ] && [ -f "$KEPT/mpnet.gz.2" ] && [ ! -f "$KEPT/data/mpnet.npz" ]; then
    cat "$KEPT"/mpnet.gz.[0-2] | gzip -d > "$KEPT/data/mpnet.npz.part" && (cd "$KEPT" && echo "$(cat mpnet.sha256)  data/mpnet.npz.part" | sha256sum -c) && mv "$KEPT/data/mpnet.npz.part" "$KEPT/data/mpnet.npz"
  fi
  if [ -f "$KEPT/teacher.gz.0" ] && [ -f "$KEPT/teacher.gz.1" ] && [ -f "$KEPT/teacher.gz.2" ] && [ ! -f "$W/teacher.npz" ]; then
    cat "$KEPT"/teacher.gz.[0-2] | gzip -d > "$W/teacher.part" && (cd "$KEPT" && echo "$(cat teacher.sha256)  work/teacher.part" | sha256sum -c) && mv "$W/teacher.part" "$W/teacher.npz"
  fi
  ls -la "$KEPT" "$KEPT/data"; nvidia-smi -L 2>/dev/null; nproc ;;
prepare)
  cd "$KEPT/code"
  for what in train eval extra; do
    setsid nohup nice -n $([ $what = train ] && echo 0 || echo 10) $PY -m training.distil.prepare $what --data "$KEPT/data" --work "$W" ${1:+--limit $1} ${WORKERS:+--workers $WORKERS} > "$KEPT/prepare-$what.log" 2>&1 < /dev/null &
  done
  echo started ;;
start)
  cd "$KEPT/code"
  rm -f "$W"/*.phase "$W/all.done"
  setsid nohup $PY -m training.distil.pipeline --data "$KEPT/data" --work "$W" "$@" >> "$KEPT/log" 2>&1 < /dev/null &
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
  3) cp sparts/* "$OUT"/; sha256sum int8/model.onnx > "$OUT/student.sha256"; cp "$KEPT/log" "$OUT/log.txt"; cp eval-logits.npz figures.txt figures.json answers.json "$OUT"/ 2>/dev/null
     cd "$OUT" && tar cf reports.tar log.txt student.sha256 figures.txt figures.json answers.json; rm -f log.txt student.sha256 figures.txt figures.json answers.json ;;
  4) cp fparts/* "$OUT"/; sha256sum student-fp16.npz > "$OUT/student-fp16.sha256" ;;
  5) tar cf "$OUT/logs.tar" -C "$W" teacher-log.json student-log.json figures.txt figures.json -C "$KEPT" log prepare-train.log prepare-eval.log prepare-extra.log ;;
  esac
  ls -la "$OUT" ;;
esac
