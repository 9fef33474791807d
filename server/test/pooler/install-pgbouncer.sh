#!/bin/sh
# Unpacks PgBouncer into a folder, on Debian 12: nothing is installed on the machine.
#   sh server/test/pooler/install-pgbouncer.sh FOLDER [SUITE]
# SUITE is bookworm (PgBouncer 1.18) or trixie (1.24, the default). The program is FOLDER/pgbouncer.
set -eu
folder=$(realpath -m "$1"); suite=${2:-trixie}
case $suite in
  trixie) packages='pgbouncer libevent-2.1-7t64 libevent-core-2.1-7t64 libcares2 libc6 libssl3t64
    libsystemd0 libpam0g libldap2 libcap2 libgcrypt20 liblzma5 libzstd1 liblz4-1 libaudit1 libsasl2-2
    libgpg-error0 libcap-ng0' ;;
  bookworm) packages='pgbouncer libevent-2.1-7 libc-ares2 libc6 libssl3 libsystemd0 libpam0g
    libcap2 libgcrypt20 liblzma5 libzstd1 liblz4-1 libaudit1 libgpg-error0 libcap-ng0' ;;
  *) echo "unknown suite: $suite" >&2; exit 2 ;;
esac
mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial" "$folder/packages"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $mirror $suite main" > "$folder/sources.list"
apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State="$folder/state" -o Dir::Cache="$folder/cache" "$@"
}
apt update
# shellcheck disable=SC2086
(cd "$folder/packages" && apt download $packages)
for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder/root"; done
# Its own loader and libraries, since the machine's may be older.
libraries="$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu"
loader=$(find "$folder/root" -name 'ld-linux-x86-64.so.2' | head -1)
printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' \
  "$loader" "$libraries" "$folder/root/usr/sbin/pgbouncer" > "$folder/pgbouncer"
chmod -R a+rX "$folder"; chmod +x "$folder/pgbouncer"
"$folder/pgbouncer" --version | head -1
