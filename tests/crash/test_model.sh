#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The model of the tests of crashes: it finds what it should.

# shellcheck source=tests/crash/crash.sh
. "$(dirname "$0")/crash.sh"

check "what may be there passes, what may not is found" python3 -B "$CRASH_DIR/model_test.py"
finish
