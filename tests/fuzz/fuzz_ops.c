/* SPDX-License-Identifier: MIT */
/* Operations, as random.h has them, on the LevelDB engine and on the one in memory, which is the
 * model: after each they hold the same. The last byte of an input says whether LevelDB's table has
 * a salt. */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/random.h"

#define OPS_FUZZ_MAX 64 /* operations of one input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned int buckets[] = {0, 2, 16, 256};
	static struct random_run run;
	unsigned int salt;

	if (size == 0)
		return 0;
	memset(&run, 0, sizeof(run));
	run.bytes = data;
	run.bytes_left = size;
	random_open(&run);
	salt = data[size - 1] % 4;
	if (salt > 0)
		suite_salt(&run.suites[SUITE_LEVELDB], buckets[salt], salt - 1);
	for (int i = 0; i < OPS_FUZZ_MAX && run.bytes_left > 0; i++) {
		random_step(&run);
		random_check_all(&run);
	}
	random_close(&run);
	return 0;
}
