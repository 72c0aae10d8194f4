/* SPDX-License-Identifier: MIT */
/* Shares of a limited thing: 100 in all, 75 of others than root, the owner and the mounter, and 25
 * of each of them. */
#include "fs/serve/share.h"
#include "tests/unit/suite.h"

enum { OWNER = 500, MOUNTER = 501, A = 1001, B, C, D };

/* In the order of the steps: + takes, - gives. */
struct step {
	char sign;
	uid_t user;
	uint64_t amount;
	bool fits;     /* of + */
	uint64_t held; /* by all, after it */
};

static void share_steps(const struct step *step)
{
	struct fs fs = {.options.uid = OWNER, .mounter = MOUNTER};
	struct share share;

	share_init(&share, (struct share_limits){100, 75, 25});
	for (int i = 0; step->sign; step++, i++) {
		if (step->sign == '-')
			share_give(&share, step->user, step->amount);
		else
			ck_assert_msg(share_take(&share, &fs, step->user, step->amount) ==
					      step->fits,
				      "step %d", i);
		ck_assert_msg(share_held(&share) == step->held, "step %d", i);
	}
	share_destroy(&share);
}

SUITE_TEST(share_of_a_user, 10)
{
	share_steps((const struct step[]){{'+', A, 24, true, 24},
					  {'+', A, 2, false, 24},
					  {'+', A, 0, true, 24},
					  {'+', A, 1, true, 25},
					  {'+', A, 1, false, 25},
					  {'+', B, 25, true, 50}, /* B has a share, too */
					  {'-', A, 5, true, 45},
					  {'+', A, 5, true, 50},
					  {'+', A, 1, false, 50},
					  {'-', A, 25, true, 25},
					  {'-', B, 25, true, 0},
					  {0}});
}

SUITE_TEST(share_of_many_users, 10)
{
	share_steps((const struct step[]){{'+', A, 25, true, 25},
					  {'+', B, 25, true, 50},
					  {'+', C, 24, true, 74},
					  {'+', D, 2, false, 74},
					  {'+', D, 1, true, 75},
					  {'+', C, 1, false, 75},
					  {'+', 0, 23, true, 98}, /* for whom the rest is kept */
					  {'+', OWNER, 1, true, 99},
					  {'+', MOUNTER, 1, true, 100},
					  {'+', 0, 1, false, 100},
					  {'-', D, 1, true, 99},
					  {'+', 0, 1, true, 100},
					  {'+', D, 1, false, 100},
					  {'-', 0, 24, true, 76},
					  {'-', A, 25, true, 51},
					  {'+', D, 25, true, 76},
					  {0}});
}

SUITE_TEST(share_of_one_large_thing, 10)
{
	share_steps((const struct step[]){{'+', A, 76, false, 0},
					  {'+', A, 60, true, 60}, /* more than 25, but A had none */
					  {'+', A, 1, false, 60},
					  {'+', B, 16, false, 60},
					  {'+', B, 15, true, 75},
					  {'-', A, 60, true, 15},
					  {'+', 0, UINT64_MAX, false, 15},
					  {'+', A, UINT64_MAX, false, 15},
					  {'+', 0, 85, true, 100},
					  {0}});
}
