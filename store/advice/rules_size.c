/* SPDX-License-Identifier: MIT */
/* Rules about sizes and counts: of rows, cells, columns, versions and families. */
#include "store/advice/advice_private.h"

bool rules_peak(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_peak *peak =
		(const void *)((const char *)&advice->stats + finding->rule->of);

	(void)at;
	finding->value = (double)peak->value;
	finding->key = peak->row > 0 ? &peak->key : NULL;
	finding->family = peak->family ? peak->family->name : NULL;
	return true;
}

bool rules_families(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	finding->value = (double)advice->family_count;
	return true;
}

/* The value is 1 for a family without a cell in a table that was read whole. */
bool rules_empty(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_family *family = &advice->families[at];

	if (!family->declared || advice->stats.sample || advice->stats.rows < ADVICE_ROWS)
		return false;
	finding->value = family->cells == 0;
	finding->family = family->name;
	return true;
}

/* The bytes of names for each byte of a value; names of a few bytes are short for any value. A few
 * large values change the quotient, and a sample may lack them. */
bool rules_names(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_family *family = &advice->families[at];

	if (advice->stats.sample || family->filled < ADVICE_ROWS ||
	    family->names <= RULES_NAME * family->filled)
		return false;
	finding->value = (double)family->names / (double)family->values;
	finding->family = family->name;
	finding->key = &family->key;
	return true;
}
