# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of packages share: a mount namespace of its own, and a Debian in the directory $root
# (make_root). The repository is $checkout.

. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
own_mounts
need_fuse
# shellcheck disable=SC2034 # not_ok uses it: no second run of so much
FINAL=data
# shellcheck disable=SC2034 # the tests use it
checkout=$(cd "$LIB_DIR/../.." && pwd)
root=$TMP/root

# mirror_answers: this machine's package mirror gives its lists.
mirror_answers() {
	mkdir -p "$TMP/lists/partial"
	apt-get -q -o Dir::State::Lists="$TMP/lists" -o Dir::Etc::SourceList="$TMP/sources.list" \
		-o Dir::Etc::SourceParts=- -o APT::Update::Error-Mode=any update >"$TMP/.check" 2>&1
}

# make_root OPTION…: a Debian as this machine's, by mmdebstrap, from the mirror that this
# machine's apt has. Status 1, with the reason in $no_root: another user than root, or a mirror that
# does not answer.
make_root() {
	local codename
	if [ "$(id -u)" != 0 ]; then
		no_root="only root can make a Debian in a directory"
		return 1
	fi
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2016 # apt replaces these
	apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
		'Origin: Debian' | sort -u >"$TMP/sources.list"
	[ -s "$TMP/sources.list" ] || die "apt has no lists of Debian's packages: apt-get update"
	apt-config dump --no-empty --format '%f "%v";%n' Acquire >"$TMP/apt.conf"
	if ! mmdebstrap --quiet --aptopt="$TMP/apt.conf" "$@" "$codename" "$root" "$TMP/sources.list" >"$TMP/log" 2>&1; then
		mirror_answers && die "mmdebstrap failed: $(lib_tail "$TMP/log")"
		# shellcheck disable=SC2034 # the tests use it
		no_root="the package mirror does not answer: $(lib_tail "$TMP/.check")"
		return 1
	fi
	cp /etc/hosts "$root/etc" # mmdebstrap copies resolv.conf
}
