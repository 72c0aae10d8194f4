# SPDX-License-Identifier: MIT
#
# Turns dpkg's log into lines for rowfs-load: table log, keys time#package, family change with a
# column for each change (install, upgrade, remove, purge), whose value is the versions.
#
#   LC_ALL=C awk -f log.awk /var/log/dpkg.log | rowfs-load packages.db
#
# The times of the log are local, those of the keys UTC: mktime and strftime, of mawk and gawk.

BEGIN {
	print "{\"table\":\"log\"}"
}

$3 ~ /^(install|upgrade|remove|purge)$/ && NF == 6 && !/["\\%\001-\037\177-\377]/ {
	local = $1 " " $2
	gsub(/[-:]/, " ", local)
	at = mktime(local)
	if (at < 0)
		next
	versions = $5 " -> " $6
	gsub(/<none> -> | -> <none>/, "", versions)
	printf "{\"key\":\"%s#%s\",\"families\":{\"change\":{\"%s\":[{\"ts\":%d000000,\"value\":\"%s\"}]}}}\n",
		strftime("%Y-%m-%dT%H:%M:%SZ", at, 1), $4, $3, at, versions
}
