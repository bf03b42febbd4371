#!/usr/bin/env bash
# Two machines on this one, with Redis between them and HAProxy in front: http://127.0.0.1:8000. Ctrl-C ends all of it, and so does the end of
# anything but one machine.
# Needs redis-server; without haproxy the machines are at 8001 and 8002 only, and must not expect its PROXY headers. A first `npm run build` must have been.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
main=$(cd "$here/../.." && pwd)/dist/main.js
work=$(mktemp -d)
pids=()
end() {
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
  rm -rf "$work"
}
trap end EXIT
trap 'exit 0' INT TERM

[ -e "$main" ] || { echo "first: npm run build" >&2; exit 1; }
command -v redis-server >/dev/null || { echo "first: apt-get install redis-server" >&2; exit 1; }
CLUSTER_SECRET=${CLUSTER_SECRET:-$(head -c 24 /dev/urandom | base64)}
export CLUSTER_SECRET

redis-server --port 6390 --bind 127.0.0.1 --dir "$work" --appendonly yes --appendfsync always --save '' --loglevel warning &
pids+=($!)

config=$here/node.yaml
if command -v haproxy >/dev/null; then
  haproxy -q -f "$here/haproxy.cfg" &
  pids+=($!)
else
  # In its folder, since paths in it are relative to it.
  config=$here/.node-$$.yaml
  sed 's/proxyProtocol: true/proxyProtocol: false/' "$here/node.yaml" >"$config"
  trap 'end; rm -f "$config"' EXIT
fi

NODE=one PORT=8001 OPS_PORT=8201 TAPES_PORT=8101 DATA=$work/one node "$main" start "$config" &
pids+=($!)
NODE=two PORT=8002 OPS_PORT=8202 TAPES_PORT=8102 DATA=$work/two node "$main" start "$config" &
pids+=($!)
nodes=("${pids[@]: -2}")
others=("${pids[@]:0:${#pids[@]}-2}")
front=http://127.0.0.1:8000
command -v haproxy >/dev/null || front=http://127.0.0.1:8001
cat <<END

  open    $front/
  feeds   node $(printf %q "$main") cluster --url http://127.0.0.1:8201
  metrics curl http://127.0.0.1:8201/metrics   (of the other machine: 8202)

END
# kill -0 of several processes succeeds where one of them is there.
while kill -0 "${nodes[@]}" 2>/dev/null; do
  for pid in "${others[@]}"; do kill -0 "$pid" 2>/dev/null || exit 1; done
  wait -n || true
done
