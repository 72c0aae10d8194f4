/* SPDX-License-Identifier: MIT */
/* Records of the heat map: bytes that are a record give the same record back, its spans are in
 * order, and sums of records have the sums of their counts. */
#include "tests/fuzz/fuzz.h"

#include "store/heat/heat_private.h"

enum { SLOT = 5, SHARE = 100 };

static union heat_counts fuzz_total(const struct heat_record *record)
{
	union heat_counts total = {.reads = 0};

	for (size_t i = 0; i < record->count; i++)
		for (size_t j = 0; j < record->tables[i].spans.count; j++)
			heat_counts_add(&total, &record->tables[i].spans.spans[j].counts);
	return total;
}

static void fuzz_check_order(const struct heat_record *record)
{
	for (size_t i = 0; i < record->count; i++) {
		const struct heat_spans *spans = &record->tables[i].spans;

		FUZZ_CHECK(i == 0 || record->tables[i - 1].table < record->tables[i].table);
		for (size_t j = 0; j < spans->count; j++) {
			const struct heat_span *span = &spans->spans[j];

			FUZZ_CHECK(heat_compare_ends(span->start, span->end) < 0);
			FUZZ_CHECK(j == 0 || heat_compare_ends(span[-1].end, span->start) <= 0);
		}
	}
}

/* Encodes the record, which has an order, and decodes it again. */
static void fuzz_check_bytes(const struct heat_record *record)
{
	struct heat_record again = {.count = 0};
	unsigned char *bytes, *twice;
	size_t len, twice_len;

	FUZZ_CHECK(heat_record_encode(record, SLOT, &bytes, &len) == 0);
	FUZZ_CHECK(heat_record_decode(&again, SLOT, 0, bytes, len) == 0);
	fuzz_check_order(&again);
	FUZZ_CHECK(heat_record_encode(&again, SLOT, &twice, &twice_len) == 0);
	FUZZ_CHECK(fuzz_same(bytes, len, twice, twice_len));
	heat_record_free(&again);
	free(bytes);
	free(twice);
}

static void fuzz_check_total(const struct heat_record *record, const union heat_counts *total)
{
	union heat_counts found = fuzz_total(record);

	fuzz_check_order(record);
	fuzz_check_bytes(record);
	FUZZ_CHECK(memcmp(&found, total, sizeof(found)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heat_record parts[2] = {{.count = 0}, {.count = 0}}, sum = {.count = 0};
	size_t first = fuzz_byte(&data, &size) * size / 256;
	union heat_counts totals[2];

	if (heat_record_decode(&parts[0], SLOT, 0, data, first) == 0 &&
	    heat_record_decode(&parts[1], SLOT, 0, data + first, size - first) == 0) {
		for (size_t i = 0; i < 2; i++) {
			totals[i] = fuzz_total(&parts[i]);
			fuzz_check_total(&parts[i], &totals[i]);
		}
		heat_counts_add(&totals[0], &totals[1]);
		FUZZ_CHECK(heat_record_join(&sum, parts, 2) == 0);
		fuzz_check_total(&sum, &totals[0]);
		FUZZ_CHECK(heat_record_fit(&sum, SHARE, SIZE_MAX) == 0);
		fuzz_check_total(&sum, &totals[0]);
	}
	for (size_t i = 0; i < 2; i++)
		heat_record_free(&parts[i]);
	heat_record_free(&sum);
	return 0;
}
