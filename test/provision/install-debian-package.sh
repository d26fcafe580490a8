#!/bin/sh
# Installs one Debian package. Promises:
# - whoever asks at the same time waits, then finds it installed;
# - the package starts no service and creates no database cluster of its own;
# - what had to be changed for that is changed back.
# Usage: install-debian-package.sh PACKAGE [ROOT], ROOT standing for / in this project's own tests.
set -eu
package=$1
root=${2:-}

# The kernel frees this lock with the process, so a killed installation cannot block the next one.
exec 9>"$root/run/decorum-install.lock"
flock 9

status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
[ "$status" = 'install ok installed' ] && exit 0

policy=$root/usr/sbin/policy-rc.d
clusters=$root/etc/postgresql-common/createcluster.d
made_policy=
undo() {
  [ -z "$made_policy" ] || rm -f "$policy"
  rm -f "$clusters/decorum.conf"
}
trap undo EXIT
# Without these, a signal would end the shell before EXIT's turn.
trap 'exit 1' HUP INT TERM

if [ ! -e "$policy" ]; then
  made_policy=yes
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
mkdir -p "$clusters"
echo 'create_main_cluster = false' >"$clusters/decorum.conf"

export DEBIAN_FRONTEND=noninteractive
# Stale package lists are tried too: the package may still be in the mirror or the cache.
apt-get update -q || true
apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$package"
