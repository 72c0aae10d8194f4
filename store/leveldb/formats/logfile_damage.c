/* SPDX-License-Identifier: MIT */
/*
 * Tells whether a piece of a log that is not whole was being written at a crash, or has a damaged
 * header, and finds where reading can go on behind a damaged piece.
 *
 * A piece that was being written has its header, or the begin of it. The header is damaged
 *
 * - if LevelDB writes no such header: it has no type, or one that cannot follow the piece before,
 * or a length that does not fit into the block, which a first or middle piece fills;
 * - if the checksum is right for fewer bytes, which are there: the length is wrong;
 * - if whole pieces stand behind the header, and lead to the end.
 *
 * A value that is a log can have such pieces, too. The last rule therefore does not apply if the
 * known bytes of the record are the begin of a batch of just its length.
 */
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/file.h"
#include "store/leveldb/formats/logfile_private.h"

#define DAMAGE_BATCH_HEAD 12u

/* ---- Batches ----------------------------------------------------------------------------- */

/* The known begin of a record, in two parts. */
struct damage_batch {
	const unsigned char *first, *then;
	size_t first_len, have; /* bytes of the first part; of both */
	size_t at;
	bool cut; /* a change goes on behind the known bytes */
};

static unsigned char damage_byte(const struct damage_batch *batch, size_t at)
{
	return at < batch->first_len ? batch->first[at] : batch->then[at - batch->first_len];
}

/* Skips a length and the key or value behind it. False: there is no length. */
static bool damage_text(struct damage_batch *batch)
{
	uint64_t len = 0;
	unsigned int shift = 0;
	unsigned char byte;

	do {
		batch->cut = batch->at >= batch->have;
		if (batch->cut)
			return true;
		byte = damage_byte(batch, batch->at++);
		len |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte >= 0x80 && shift < 35);
	batch->at += (size_t)len;
	return byte < 0x80 && len < UINT32_MAX / 4;
}

/* Are the known bytes the begin of a batch of len bytes? longer: of a longer one. */
static bool damage_is_batch(struct damage_batch *batch, size_t len, bool longer)
{
	uint32_t count = 0;

	if (batch->have < DAMAGE_BATCH_HEAD)
		return false;
	for (size_t i = 4; i-- > 0;)
		count = count << 8 | damage_byte(batch, 8 + i);
	batch->at = DAMAGE_BATCH_HEAD;
	for (; count > 0 && !batch->cut && batch->at < batch->have; count--) {
		unsigned char type = damage_byte(batch, batch->at++);

		if (type > 1 || !damage_text(batch) ||
		    (type == 1 && !batch->cut && !damage_text(batch)))
			return false;
	}
	if (count > 0 || batch->cut)
		return longer || batch->at < len;
	return longer ? batch->at > len : batch->at == len;
}

bool ldb_logfile_is_batch(struct wcs_slice record)
{
	struct damage_batch batch = {.then = record.data, .have = record.len};

	return damage_is_batch(&batch, record.len, false);
}

bool ldb_logfile_in_sequence(struct wcs_slice batch, uint64_t *next)
{
	uint64_t sequence = get_le64(batch.data);
	uint32_t count = get_le32((const unsigned char *)batch.data + 8);

	if (sequence < *next || sequence > LDB_SEQUENCE_MAX - count)
		return false;
	*next = sequence + count;
	return true;
}

int ldb_logfile_changes(struct wcs_slice batch,
			int (*each)(void *ctx, uint64_t tag, struct wcs_slice key,
				    struct wcs_slice value),
			void *ctx)
{
	struct ldb_rest rest = {batch.data, batch.len}, key, value = {NULL, 0};
	uint64_t sequence = get_le64(ldb_rest_take(&rest, DAMAGE_BATCH_HEAD));
	int rc = 0;

	for (; !rc && rest.len > 0; sequence++) {
		unsigned char type = *ldb_rest_take(&rest, 1);

		if (!ldb_rest_text(&rest, &key) || (type && !ldb_rest_text(&rest, &value)))
			return 0;
		rc = each(ctx, sequence << 8 | type, (struct wcs_slice){key.data, key.len},
			  (struct wcs_slice){value.data, type ? value.len : 0});
	}
	return rc;
}

/* ---- Pieces ------------------------------------------------------------------------------ */

/* Would LevelDB write such a header there? */
static bool damage_may_be_head(const struct ldb_logfile *log, size_t at)
{
	const unsigned char *head = log->block + at;
	size_t end = at + LDB_LOGFILE_HEAD + ldb_logfile_len(head);

	if (head[6] == LDB_LOGFILE_FIRST || head[6] == LDB_LOGFILE_MIDDLE)
		return end == LDB_LOGFILE_BLOCK;
	return ldb_logfile_is_type(head[6]) && end <= LDB_LOGFILE_BLOCK;
}

/* The end of the whole piece at that offset; 0: there is none. */
static size_t damage_whole(const struct ldb_logfile *log, size_t at)
{
	const unsigned char *head = log->block + at;
	size_t left = log->len - at;

	if (left < LDB_LOGFILE_HEAD || !damage_may_be_head(log, at))
		return 0;
	left -= LDB_LOGFILE_HEAD;
	if (ldb_logfile_len(head) > left ||
	    ldb_logfile_crc(head, ldb_logfile_len(head)) != get_le32(head))
		return 0;
	return at + LDB_LOGFILE_HEAD + ldb_logfile_len(head);
}

/* Does a whole piece stand there, and lead with those behind it to the end of the written bytes? */
static bool damage_leads_to_end(const struct ldb_logfile *log, size_t at)
{
	size_t end = damage_whole(log, at);

	if (end == 0)
		return false;
	for (; end > 0; end = damage_whole(log, at))
		at = end;
	return log->len - at < LDB_LOGFILE_HEAD ||
	       ldb_logfile_all_zero(log->block + at, log->len - at) ||
	       (damage_may_be_head(log, at) &&
		at + LDB_LOGFILE_HEAD + ldb_logfile_len(log->block + at) > log->len);
}

/* The end of the piece at log->at by its checksum, if only its length is wrong; 0: it is not. */
static size_t damage_whole_by_checksum(const struct ldb_logfile *log)
{
	const unsigned char *head = log->block + log->at;
	uint32_t stored = get_le32(head), crc = wcs_crc_extend(0, head + 6, 1);

	for (size_t at = log->at + LDB_LOGFILE_HEAD;; at++) {
		if (wcs_crc_mask(crc) == stored)
			return at;
		if (at == log->len)
			return 0;
		crc = wcs_crc_extend(crc, log->block + at, 1);
	}
}

/* Are the bytes of the record and of the piece the begin of a batch that ends where the header
 * says?
 */
static bool damage_begins_batch(const struct ldb_logfile *log, size_t have)
{
	const unsigned char *head = log->block + log->at;
	bool longer = head[6] == LDB_LOGFILE_FIRST || head[6] == LDB_LOGFILE_MIDDLE;
	struct damage_batch batch = {.first = log->record.data,
				     .then = head + LDB_LOGFILE_HEAD,
				     .first_len = log->in_record ? log->record.len : 0};

	batch.have = batch.first_len + have - log->at - LDB_LOGFILE_HEAD;
	return damage_is_batch(&batch, batch.first_len + ldb_logfile_len(head), longer);
}

bool ldb_logfile_is_cut(const struct ldb_logfile *log, size_t have)
{
	unsigned int type = log->block[log->at + 6];
	bool starts = type == LDB_LOGFILE_FULL || type == LDB_LOGFILE_FIRST;
	bool follows =
		starts ? !log->in_record || log->record.len == 0 : log->in_record || log->skipping;

	if (!follows || !damage_may_be_head(log, log->at) || damage_whole_by_checksum(log) > 0)
		return false;
	if (damage_begins_batch(log, have))
		return true;
	for (size_t at = log->at + LDB_LOGFILE_HEAD; at < have; at++)
		if (damage_leads_to_end(log, at))
			return false;
	return true;
}

/* Tries the length, then the checksum, then searches a whole piece. One that is found in a value
 * has sequence numbers by which files.c rejects it. */
size_t ldb_logfile_behind(const struct ldb_logfile *log)
{
	size_t at = log->at + LDB_LOGFILE_HEAD + ldb_logfile_len(log->block + log->at);

	if (at <= log->len && (log->len - at < LDB_LOGFILE_HEAD || damage_whole(log, at) > 0))
		return at;
	at = damage_whole_by_checksum(log);
	if (at > 0)
		return at;
	at = log->at + 1;
	while (at < log->len && damage_whole(log, at) == 0)
		at++;
	return at;
}
