# SPDX-License-Identifier: MIT
#
# Finds the commands of a shell script in its syntax tree, which `shfmt -tojson` prints. Prints a line
# "calls NAME" for each command, "defines NAME" for each function, and "runs STRING" (as JSON) for each
# script between single quotes that sh -c or bash -c gets.

# Commands that run the command among their arguments -> its place.
def runners: {check: 2, fail_with: 4, within: 1, inside: 1, command: 1, env: 1, exec: 1, nohup: 1,
	setpriv: 1, sudo: 1, timeout: 1, unshare: 1, xargs: 1};

# An argument's text; null if a part of it is not literal, except behind "NAME=".
def text:
	.Parts[0] as $first
	| if $first.Type == "Lit" and (.Parts[1] == null or ($first.Value | contains("=")))
	then $first.Value else null end;

# The command of these words, and the one that it runs.
def called:
	.[0],
	(runners[.[0] // ""] as $place
		| select($place and .[1] != "-v") | .[$place:]
		| until(.[0] == null or (.[0] | test("^-|=|^[0-9.]+$") | not); .[1:])
		| called);

.. | objects
| if .Type == "FuncDecl" then "defines \(.Name.Value)"
elif .Type == "CallExpr" then
	[.Args[]? | text] as $words
	| ($words | called | strings | "calls \(.)"),
	  (range(2; $words | length) as $i
		| select(($words[$i - 2] | IN("sh", "bash")) and $words[$i - 1] == "-c")
		| .Args[$i].Parts[0] | select(.Type == "SglQuoted") | "runs \(.Value | tojson)")
else empty end
