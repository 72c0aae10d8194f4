#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Debian package that `make deb` made: what lintian says of it, and that it installs, mounts and
# goes without a trace, in a Debian of its own (mmdebstrap) and a mount namespace of its own.

. "$(dirname "$0")/root.sh"

deb=$(echo "$BUILD"/rowfs_*.deb)
changes=$(echo "$BUILD"/rowfs_*.changes)
[ -e "$deb" ] || die "there is no package in $BUILD"

# ---- The package -------------------------------------------------------------------------------

TMPDIR=$TMP lintian --allow-root "$changes" >"$TMP/lintian" 2>&1 # it leaves files there
check_eq "lintian has no errors" "exit 0" "exit $?$(grep '^E:' "$TMP/lintian")"
check_eq "and no warnings" "" "$(grep '^W:' "$TMP/lintian")"
version=$(sed -n 's/^VERSION := //p' "$checkout/Makefile")
check_eq "its name and version" "rowfs $version" "$(dpkg-deb -f "$deb" Package Version | sed 's/.*: //' | paste -sd ' ')"
check "it depends on what mounts for users" grep -qE '(^|, )fuse3(,|$)' <(dpkg-deb -f "$deb" Depends)
check "and on libraries by their versions" grep -q 'libfuse3-3 (>= ' <(dpkg-deb -f "$deb" Depends)
dpkg-deb -c "$deb" >"$TMP/contents"
for file in bin/rowfs bin/mkfs.rowfs bin/fsck.rowfs bin/rowfs-dump bin/rowfs-load bin/rowfs-path bin/rowfs-advise \
	share/bash-completion/completions/rowfs share/zsh/vendor-completions/_rowfs share/doc/rowfs/README.Debian; do
	check "it has /usr/$file" grep -qE "^-.* \./usr/$file\$" "$TMP/contents"
done
check "it has the unit" grep -qE '^-.* \./(usr/)?lib/systemd/system/rowfs@\.service$' "$TMP/contents"
check "nothing was left in the checkout" bash -c '! find "$0/debian" | grep -E "/rowfs$|/files$|debhelper|substvars"' \
	"$checkout"

# ---- Installed ---------------------------------------------------------------------------------

# A Debian with no more than every one has, mount, and what the package depends on.
needs=$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/ //g')
make_root --variant=essential --include="mount,$needs" || skip "$no_root"
mount -t proc proc "$root/proc" || die "root cannot mount here"
: >"$root/dev/fuse"
mount --bind /dev/fuse "$root/dev/fuse"

# inside COMMAND…: in that Debian.
inside() {
	env --unset=BUILD --unset=TMPDIR PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root" "$@"
}

# files: all there are, but the records and logs of what was installed.
files() {
	(cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \
		-o -path ./dev -o -path ./proc \) -prune -o -printf '%p %M %u\n' | sort)
}

cp "$deb" "$root/rowfs.deb"
files >"$TMP/before"
check "it installs" inside dpkg -i /rowfs.deb
check "all of it" inside dpkg -V rowfs
for program in rowfs mkfs.rowfs fsck.rowfs rowfs-dump rowfs-load rowfs-path rowfs-advise; do
	check_eq "$program runs" "$program $version" "$(inside "$program" --version | sed 's/ (rowfs)//')"
done
check "nothing was mounted by it" bash -c '! grep fuse.rowfs /proc/self/mounts | grep -F "$0"' "$root"

schema='{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
inside mkdir -p /var/lib/rowfs /srv/fleet
check "a store is made" inside mkfs.rowfs --schema /dev/stdin /var/lib/rowfs/fleet.db <<<"$schema"
check "rowfs mounts it" inside rowfs /var/lib/rowfs/fleet.db /srv/fleet
check "it is written" inside sh -c 'mkdir -p /srv/fleet/t/a/b/f && echo one >/srv/fleet/t/a/b/f/q'
check "fusermount3 unmounts it" inside fusermount3 -u /srv/fleet
echo '/var/lib/rowfs/fleet.db /srv/fleet fuse.rowfs noauto,nofail,umask=077 0 0' >>"$root/etc/fstab"
check "mount knows it from /etc/fstab" inside mount /srv/fleet
check_eq "what was written is there" "one 600" \
	"$(inside cat /srv/fleet/t/a/b/f/q) $(inside stat -c %a /srv/fleet/t/a/b/f/q)"
check "umount" inside umount /srv/fleet
check "fsck.rowfs finds nothing wrong, once the mount has ended" within inside fsck.rowfs -n /var/lib/rowfs/fleet.db
check_eq "rowfs-dump prints the row" 1 "$(inside rowfs-dump /var/lib/rowfs/fleet.db t | grep -c '"key":"a#b"')"

prune=$(sed -n "s/^  \(sed .*PRUNEFS.*\)/\1/p" "$root/usr/share/doc/rowfs/README.Debian")
for before in 'PRUNEFS="NFS afs"' 'PRUNEFS = ""'; do
	printf '%s\n' 'PRUNE_BIND_MOUNTS="yes"' "$before" 'PRUNEPATHS="/tmp"' >"$root/etc/updatedb.conf"
	inside sh -c "$prune" && inside sh -c "$prune"
	check_eq "README.Debian's command for updatedb: $before" "${before/\"/\"fuse.rowfs }" \
		"$(sed -n 2p "$root/etc/updatedb.conf")"
done

# ---- Removed -----------------------------------------------------------------------------------

sed -i '/fuse.rowfs/d' "$root/etc/fstab"
rm -r "$root/var/lib/rowfs" "$root/srv/fleet" "$root/etc/updatedb.conf"
rm -r "$root/etc/mtab.fuselock" "$root/run/mount" # of fusermount3, of mount
check "it is installed over itself" inside dpkg -i /rowfs.deb
check "it is removed" inside dpkg --remove rowfs
check "and purged" inside dpkg --purge rowfs
files >"$TMP/after"
check_eq "nothing of it is left" "" "$(diff "$TMP/before" "$TMP/after")"
check_eq "nor in the records" "" "$(find "$root/var/lib/dpkg/info" -name 'rowfs*'
	grep -x 'Package: rowfs' "$root/var/lib/dpkg/status")"

umount "$root/dev/fuse" "$root/proc"
finish
