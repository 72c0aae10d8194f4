/* SPDX-License-Identifier: MIT */
/* Records of the LevelDB engine: an accepted record is encoded again to the same bytes. */
#include "tests/fuzz/fuzz.h"

#include "store/leveldb/encoding/record.h"

static void record_fuzz_cell(const uint8_t *data, size_t size)
{
	static unsigned char again[LDB_CELL_MAX];
	struct ldb_cell cell;
	size_t len;
	int error = ldb_record_cell_decode(data, size, &cell);

	FUZZ_CHECK(error == 0 || error == -EIO);
	if (error)
		return;
	FUZZ_CHECK((cell.id == 0) == (cell.size <= WCS_VALUE_INLINE));
	FUZZ_CHECK(cell.size <= WCS_VALUE_MAX);
	if (cell.id == 0)
		len = ldb_record_inline(again, cell.etag, (struct wcs_slice){cell.data, cell.size});
	else
		len = ldb_record_extents(again, cell.etag, cell.size, cell.id);
	FUZZ_CHECK(fuzz_same(again, len, data, size));
}

static void record_fuzz_garbage(const uint8_t *data, size_t size)
{
	unsigned char again[LDB_GARBAGE_LEN];
	enum ldb_garbage_kind kind;
	uint32_t chunks;
	int error = ldb_record_garbage_decode(data, size, &kind, &chunks);

	FUZZ_CHECK(error == 0 || error == -EIO);
	if (error)
		return;
	ldb_record_garbage(again, kind, chunks);
	FUZZ_CHECK(fuzz_same(again, sizeof(again), data, size));
}

static void record_fuzz_drop(const uint8_t *data, size_t size)
{
	static unsigned char again[LDB_ERASE_MAX];
	struct ldb_drop drop;
	int error = ldb_record_drop_decode(data, size, &drop);

	FUZZ_CHECK(error == 0 || error == -EIO);
	if (error)
		return;
	FUZZ_CHECK(fuzz_same(again, ldb_record_drop(again, &drop), data, size));
}

static void record_fuzz_table(const uint8_t *data, size_t size)
{
	struct wcs_table_schema schema = {.delimiter = 0}, twice = {.delimiter = 0};
	unsigned char *again;
	size_t len;
	int error = ldb_record_table_decode(data, size, &schema);

	FUZZ_CHECK(error == 0 || error == -EIO || error == -EPROTO);
	if (error)
		return;
	again = ldb_record_table(&schema, &len);
	FUZZ_CHECK(again);
	if (data[0] == 1) { /* without the times of policies' changes */
		FUZZ_CHECK(len == size + 8 * schema.family_count);
		FUZZ_CHECK(ldb_record_table_decode(again, len, &twice) == 0);
		FUZZ_CHECK(strcmp(schema.name, twice.name) == 0);
		FUZZ_CHECK(schema.family_count == twice.family_count);
		wcs_table_schema_clear(&twice);
	} else {
		FUZZ_CHECK(fuzz_same(again, len, data, size));
	}
	free(again);
	wcs_table_schema_clear(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	switch (fuzz_byte(&data, &size) % 4) {
	case 0:
		record_fuzz_cell(data, size);
		break;
	case 1:
		record_fuzz_garbage(data, size);
		break;
	case 2:
		record_fuzz_drop(data, size);
		break;
	default:
		record_fuzz_table(data, size);
		break;
	}
	return 0;
}
