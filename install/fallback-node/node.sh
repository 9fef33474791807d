#!/bin/sh
# The command `node` for npm scripts, npx and `#!/usr/bin/env node`, linked as
# node_modules/.bin/node. Runs the Node from npm. If that can't run, runs the first Node on the PATH
# that is new enough. Otherwise prints one line that says what to install, and exits with 1.
# Why, and what it costs: docs/decisions/0010-fallback-node.md

oldest=24 # as "engines" in package.json

# The search below may find and run this script. That run does not search: it would never end.
[ -n "$FRAMEWRIGHT_SEEKS_NODE" ] && exit 127

# The same from node_modules/.bin and from node_modules/fallback-node. npm installs the package of
# one platform; where there is none, the pattern stays as it is.
for from_npm in "${0%/*}"/../npm-node/node_modules/node-*/bin/node; do :; done
set -f # no file name patterns: unquoted variables below are only split into words

# The loader checks the libraries before it starts Node. A run with --version takes 7 ms.
complaint=$("$from_npm" --version 2>&1) && exec "$from_npm" "$@"
status=$?
complaint=$(echo $complaint) # on one line

own='not found'
IFS=:
for folder in $PATH; do
  version=$(FRAMEWRIGHT_SEEKS_NODE=yes "$folder/node" --version 2>/dev/null) || continue
  major=${version#v}
  major=${major%%.*}
  if [ "$major" -ge "$oldest" ] 2>/dev/null; then
    exec "$folder/node" "$@"
  fi
  [ "$own" = 'not found' ] && own=$version
done

if ! [ -e "$from_npm" ]; then
  echo "No Node can run here: the Node from npm is not installed (NODE_ENV=production and" \
    "--omit=dev leave it out). Run npm ci --include=dev, or install Node $oldest or newer." \
    "Node of this machine: $own." >&2
  exit 1
fi
case $complaint in
  *libatomic*) missing='the package libatomic1 (Debian and Ubuntu: apt-get install libatomic1)' ;;
  *) missing='what the Node from npm lacks' ;;
esac
echo "No Node can run here: install $missing, or Node $oldest or newer." \
  "Node from npm (exit code $status): ${complaint#"$from_npm: "}. Node of this machine: $own." >&2
exit 1
