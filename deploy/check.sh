#!/bin/bash
# Checks the files of this folder by the tools that are installed; run it anywhere. Prints what was checked, what was
# found, and which checks were left out because a tool is missing. Exit code 1 if something is wrong; with --all, also
# if a check was left out. deploy/README.md says how to get the tools.
set -u
cd "$(dirname "$0")" || exit 1
wrong=0 missing=0

check() { # TITLE TOOL COMMAND...
  local title=$1 tool=$2 output
  shift 2
  if ! command -v "$tool" > /dev/null; then
    echo "not checked: $title ($tool is not installed)"
    missing=$((missing + 1))
  elif output=$("$@" 2>&1); then
    echo "ok: $title"
  else
    printf 'wrong: %s\n%s\n' "$title" "$output"
    wrong=$((wrong + 1))
  fi
}

# It exits with 0 although it complains. The checkout is not on the machine that checks.
units() {
  local complaints
  complaints=$(systemd-analyze verify systemd/*.service 2>&1 | grep -E '^framewright|\.service' |
    grep -v 'node_modules/.bin/node is not executable')
  [ -z "$complaints" ] || { echo "$complaints"; return 1; }
}

# The score of systemd-analyze security in tenths: 0 is locked up, 100 is open.
exposure() {
  local unit
  for unit in systemd/*.service; do
    systemd-analyze security --offline=true --threshold=25 "$unit" || return 1
  done
}

manifests() {
  local file
  for file in kubernetes/*.yaml; do
    [ "$file" = kubernetes/kustomization.yaml ] || kubernetes-validate --strict "$file" || return 1
  done
}

# Docker's plugin may be a command of its own.
compose_config() {
  DOMAIN=video.example.com docker-compose --file compose/compose.yaml config --quiet
}
if docker compose version > /dev/null 2>&1; then docker-compose() { docker compose "$@"; }; fi

check 'Dockerfile' hadolint hadolint Dockerfile
check 'compose file' dclint dclint -c compose/.dclintrc.yaml compose/compose.yaml
check 'compose file, as docker reads it' docker-compose compose_config
check 'proxy' caddy env DOMAIN=video.example.com caddy validate --config compose/Caddyfile --adapter caddyfile
check 'Kubernetes manifests' kubernetes-validate manifests
check 'Kubernetes manifests together' kubectl kubectl kustomize kubernetes
check 'systemd units' systemd-analyze units
check 'systemd units, what they may do' systemd-analyze exposure

[ "$wrong" -eq 0 ] || exit 1
[ "$missing" -eq 0 ] || [ "${1:-}" != --all ]
