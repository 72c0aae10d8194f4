/* SPDX-License-Identifier: MIT */
/*
 * Row objects as text. The same cells give the same bytes. The only control byte of a line is the
 * newline at its end; hostile characters (utf8_hostile) are escaped.
 *
 *   {"key":K,"families":{F:{Q:[{"ts":T,"value":V},{"ts":T,"base64":B}],Q:[…]},F:{…}}}
 *
 * A row whose line grows beyond line_max continues in another line; no cell is split.
 *
 * Most time of reading a table through a mount passes here, so bytes are checked eight at a time:
 * a word without a special byte is copied whole, else up to the first such byte. Up to seven
 * bytes behind `to` may be overwritten.
 */
#include "store/json/row_json_write.h"

#include "lib/grow.h"
#include "lib/utf8.h"
#include "lib/words.h"
#include "store/rows.h"

/* The largest integer that every reader of JSON takes exactly. */
#define NUMBER_EXACT ((int64_t)1 << 53)

#define TEXT_ROOM (64u << 10) /* of a text that grows, at first */

/* How text is spelled. */
enum spelling {
	SPELL_KEY,   /* %XX */
	SPELL_NAME,  /* %XX, then as a JSON string */
	SPELL_VALUE, /* as a JSON string; fails unless it is UTF-8 */
	SPELL_PIECE, /* as SPELL_VALUE, for known UTF-8 */
};

/* ---- Text -------------------------------------------------------------------------------- */

/* Marks the bytes below 0x20 or above 0x7e, '"', '%' and '\\'. */
static inline uint64_t word_marks(uint64_t word)
{
	return ((word | (word + WORD_ONES)) & WORD_HIGH) | word_below(word, 0x20) |
	       word_equal(word, '"') | word_equal(word, '%') | word_equal(word, '\\');
}

/* The first bytes of a text, at most eight, as a word; behind a shorter text it has plain bytes. */
static inline uint64_t word_load(const unsigned char *from, size_t len)
{
	uint64_t word;

	if (len >= 8)
		return get_le64(from);
	if (len >= 4) /* these overlap */
		word = get_le32(from) | (uint64_t)get_le32(from + len - 4) << (8 * len - 32);
	else
		word = from[0] | (uint64_t)from[len / 2] << (len / 2 * 8) |
		       (uint64_t)from[len - 1] << (8 * len - 8);
	return word | (WORD_ONES * 'a') << 8 * len;
}

/* Writes a byte that a JSON string cannot hold as it is. */
static unsigned char *write_escape(unsigned char *to, unsigned char byte)
{
	static const char letters[] = "btn?fr"; /* of 08 to 0d */

	if (byte >= 0x08 && byte <= 0x0d && byte != 0x0b)
		byte = (unsigned char)letters[byte - 0x08];
	else if (byte != '"' && byte != '\\')
		return utf8_json(byte, to);
	*to++ = '\\';
	*to++ = byte;
	return to;
}

/* Do hostile characters begin with this byte? */
static inline bool write_suspects(unsigned char first)
{
	return first == 0xc2 || first == 0xd8 || first == 0xe1 || first == 0xe2 || first == 0xef ||
	       first >= 0xf3;
}

/*
 * Writes one character, or one byte that belongs to none. Returns the number of bytes read; 0: they
 * cannot be written.
 */
static inline size_t write_unit(unsigned char **to, const unsigned char *from, size_t len,
				enum spelling spelling)
{
	bool name = spelling == SPELL_KEY || spelling == SPELL_NAME;
	size_t n = from[0] < 0x80 ? 1 : utf8_character(from, len);

	if (n == 0 && spelling == SPELL_PIECE)
		n = 1;
	if (n == 0 && !name)
		return 0;
	if (n == 0 || (name && (from[0] < 0x20 || from[0] == 0x7f || from[0] == '%'))) {
		*to = (unsigned char *)utf8_escape(from[0], (char *)*to);
		return 1;
	}
	if (from[0] < 0x20 || from[0] == 0x7f ||
	    (spelling != SPELL_KEY && (from[0] == '"' || from[0] == '\\'))) {
		*to = write_escape(*to, from[0]);
		return 1;
	}
	if (n > 1 && spelling != SPELL_KEY && write_suspects(from[0]) &&
	    utf8_hostile(utf8_point(from, n))) {
		*to = utf8_json(utf8_point(from, n), *to);
		return n;
	}
	for (size_t i = 0; i < n; i++)
		*(*to)++ = from[i];
	return n;
}

/* Returns the end of the written text; NULL: the spelling cannot have these bytes. */
static inline unsigned char *write_text(unsigned char *to, const unsigned char *from, size_t len,
					enum spelling spelling)
{
	while (len > 0) {
		uint64_t word = word_load(from, len), marks = word_marks(word);
		size_t n = len < 8 ? len : 8;

		put_le64(to, word);
		if (marks)
			n = word_first(marks);
		to += n;
		from += n;
		len -= n;
		if (!marks)
			continue;
		n = write_unit(&to, from, len, spelling);
		if (n == 0)
			return NULL;
		from += n;
		len -= n;
	}
	return to;
}

/* ---- Numbers ----------------------------------------------------------------------------- */

static unsigned char *write_number(unsigned char *to, int64_t number)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	unsigned char digits[20];
	size_t at = sizeof(digits);

	for (; rest >= 10; rest /= 100)
		memcpy(digits + (at -= 2), pairs + rest % 100 * 2, 2);
	if (rest > 0 || at == sizeof(digits))
		digits[--at] = (unsigned char)('0' + rest);
	if (number < 0)
		*to++ = '-';
	memcpy(to, digits + at, sizeof(digits) - at);
	return to + (sizeof(digits) - at);
}

/* ---- Base64 ------------------------------------------------------------------------------ */

static unsigned char *write_base64(unsigned char *to, const unsigned char *from, size_t len)
{
	unsigned char last[3] = {0};
	size_t left = len % 3;

	to = wcs_text_base64(to, from, len / 3);
	if (left > 0) {
		memcpy(last, from + len - left, left);
		to = wcs_text_base64(to, last, 1);
		memset(to - (3 - left), '=', 3 - left);
	}
	return to;
}

/* ---- Cells ------------------------------------------------------------------------------- */

#define WRITE_LITERAL(to, literal)                                                                 \
	((unsigned char *)memcpy(to, literal, sizeof(literal) - 1) + (sizeof(literal) - 1))

void wcs_row_write_name(struct wcs_row_writer *writer, struct wcs_slice qualifier)
{
	*writer->to++ = '"';
	writer->to = write_text(writer->to, qualifier.data, qualifier.len, SPELL_NAME);
	*writer->to++ = '"';
}

static unsigned char *write_open(struct wcs_row_writer *writer, unsigned char *to,
				 struct wcs_slice row)
{
	writer->from = to;
	writer->passed = 0;
	to = WRITE_LITERAL(to, "{\"key\":\"");
	if (writer->keys) {
		char shown[WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX)];

		to = write_text(to, (unsigned char *)shown, wcs_keys_show(writer->keys, row, shown),
				SPELL_PIECE);
	} else {
		to = write_text(to, row.data, row.len, SPELL_NAME);
	}
	*to++ = '"';
	return to;
}

void wcs_row_write_open(struct wcs_row_writer *writer, struct wcs_slice row)
{
	writer->to = write_open(writer, writer->to, row);
	writer->opened = true;
}

static unsigned char *write_row(struct wcs_row_writer *writer, struct wcs_slice row)
{
	unsigned char *to = writer->to;

	if (writer->in_row)
		to = WRITE_LITERAL(to, "]}}}\n");
	if (!writer->opened)
		to = write_open(writer, to, row);
	writer->opened = false;
	writer->in_row = true;
	return WRITE_LITERAL(to, ",\"families\":{");
}

/* Keeps the text of the last timestamp: cells of one mutation have the same. */
static unsigned char *write_ts(struct wcs_row_writer *writer, unsigned char *to, int64_t ts)
{
	if (writer->ts_len == 0 || ts != writer->ts) {
		writer->ts = ts;
		writer->ts_len = (size_t)(write_number(writer->ts_text, ts) - writer->ts_text);
		writer->ts_text[writer->ts_len++] = ',';
	}
	to = WRITE_LITERAL(to, "\"ts\":");
	memcpy(to, writer->ts_text, sizeof(writer->ts_text));
	return to + writer->ts_len;
}

static uint64_t write_line_len(const struct wcs_row_writer *writer)
{
	return writer->passed + (uint64_t)(writer->to - writer->from);
}

void wcs_row_write_to(struct wcs_row_writer *writer, unsigned char *room)
{
	if (writer->in_row)
		writer->passed = write_line_len(writer);
	writer->to = room;
	writer->from = room;
}

bool wcs_row_write_cell(struct wcs_row_writer *writer, const struct wcs_cell *cell,
			enum wcs_part differs)
{
	struct wcs_slice family = cell->family, qualifier = cell->qualifier;
	unsigned char *to = writer->to;

	if (differs == WCS_PART_ROW)
		writer->row_bytes = 0;
	if (!writer->in_row || (writer->line_max > 0 && write_line_len(writer) > writer->line_max))
		differs = WCS_PART_ROW; /* the row goes on in another line */
	if (differs == WCS_PART_ROW)
		to = write_row(writer, cell->row);
	else if (differs == WCS_PART_FAMILY)
		to = WRITE_LITERAL(to, "]},");
	else if (differs == WCS_PART_QUALIFIER)
		to = WRITE_LITERAL(to, "],");
	else
		*to++ = ',';
	if (differs <= WCS_PART_FAMILY) {
		*to++ = '"';
		if (family.len > 0)
			memcpy(to, family.data, family.len);
		to = WRITE_LITERAL(to + family.len, "\":{");
	}
	if (differs <= WCS_PART_QUALIFIER) {
		*to++ = '"';
		to = write_text(to, qualifier.data, qualifier.len, SPELL_NAME);
		to = WRITE_LITERAL(to, "\":[");
	}
	*to++ = '{';
	writer->to = cell->info.ts == WCS_TS_SERVER ? to : write_ts(writer, to, cell->info.ts);
	return differs <= WCS_PART_FAMILY;
}

void wcs_row_write_finish(struct wcs_row_writer *writer)
{
	if (writer->in_row)
		writer->to = WRITE_LITERAL(writer->to, "]}}}\n");
	else if (writer->opened)
		writer->to = WRITE_LITERAL(writer->to, "}\n");
	writer->in_row = writer->opened = false;
}

void wcs_row_write_key(struct wcs_row_writer *writer, struct wcs_slice key)
{
	if (writer->keys)
		writer->to += wcs_keys_show(writer->keys, key, (char *)writer->to);
	else
		writer->to = write_text(writer->to, key.data, key.len, SPELL_KEY);
	*writer->to++ = '\n';
}

/* ---- Values ------------------------------------------------------------------------------ */

/* Writes a number; in quotes where some reader of JSON would round it. */
static unsigned char *write_integer(unsigned char *to, int64_t number)
{
	bool quoted = number > NUMBER_EXACT || number < -NUMBER_EXACT;

	to = WRITE_LITERAL(to, "\"value\":");
	if (quoted)
		*to++ = '"';
	to = write_number(to, number);
	if (quoted)
		*to++ = '"';
	return to;
}

void wcs_row_write_value(struct wcs_row_writer *writer, struct wcs_slice value, enum wcs_type type)
{
	unsigned char *to;
	int64_t number;

	if (type != WCS_BYTES && wcs_aggregate_number(type, value, &number) == 0) {
		writer->to = write_integer(writer->to, number);
		*writer->to++ = '}';
		return;
	}
	to = WRITE_LITERAL(writer->to, "\"value\":\"");
	to = write_text(to, value.data, value.len, SPELL_VALUE);
	if (to) {
		writer->to = WRITE_LITERAL(to, "\"}");
		return;
	}
	to = WRITE_LITERAL(writer->to, "\"base64\":\"");
	to = write_base64(to, value.data, value.len);
	writer->to = WRITE_LITERAL(to, "\"}");
}

void wcs_row_write_state(struct wcs_row_writer *writer, int64_t estimate, struct wcs_slice state)
{
	unsigned char *to = WRITE_LITERAL(write_integer(writer->to, estimate), ",\"state\":\"");

	writer->to = WRITE_LITERAL(write_base64(to, state.data, state.len), "\"}");
}

/* ---- Values in pieces -------------------------------------------------------------------- */

/* Reads the next part of the value behind the `kept` bytes that are at the start of its room. */
static int value_read(struct wcs_row_value *value, size_t kept)
{
	size_t got = 0;
	int rc = value->read(value->ctx, value->bytes + kept, WCS_ROW_VALUE_READ, value->at, &got);

	if (rc == 0 && got == 0)
		rc = -EIO; /* shorter than its cell says */
	if (rc != 0)
		return rc;
	value->at += got;
	value->start = 0;
	value->end = kept + got;
	return 0;
}

int wcs_row_value_begin(struct wcs_row_writer *writer, struct wcs_row_value *value)
{
	bool known = value->text != WCS_TEXT_UNKNOWN;
	size_t kept = 0;

	value->at = 0;
	while (!known && value->at < value->size && kept <= 3) {
		int rc = value_read(value, kept);
		size_t good;

		if (rc != 0)
			return rc;
		good = utf8_prefix(value->bytes, value->end);
		kept = value->end - good;
		if (kept <= 3)
			memmove(value->bytes, value->bytes + good, kept);
	}
	value->at = 0;
	value->start = value->end = 0;
	if (!known)
		value->text = kept == 0 ? WCS_TEXT_UTF8 : WCS_TEXT_BINARY;
	if (value->text == WCS_TEXT_UTF8)
		writer->to = WRITE_LITERAL(writer->to, "\"value\":\"");
	else
		writer->to = WRITE_LITERAL(writer->to, "\"base64\":\"");
	return 0;
}

/* The bytes at the end of a part of UTF-8 that are not a whole character, at most three. */
static size_t value_cut(const unsigned char *from, size_t len)
{
	size_t back = 1;

	while (back < 4 && back < len && (from[len - back] & 0xc0) == 0x80)
		back++;
	return len > 0 && utf8_character(from + len - back, back) == 0 ? back : 0;
}

int wcs_row_value_piece(struct wcs_row_writer *writer, struct wcs_row_value *value)
{
	bool text = value->text == WCS_TEXT_UTF8, last;
	unsigned char *from = value->bytes + value->start;
	size_t len = value->end - value->start;

	if (len <= 3 && value->at < value->size) {
		int rc;

		memmove(value->bytes, from, len);
		rc = value_read(value, len);
		if (rc != 0)
			return rc;
		from = value->bytes;
		len = value->end;
	}
	last = value->at == value->size && len <= WCS_ROW_VALUE_PIECE;
	if (len > WCS_ROW_VALUE_PIECE)
		len = WCS_ROW_VALUE_PIECE;
	if (!last) /* whole characters, or whole groups of base64 */
		len -= text ? value_cut(from, len) : len % 3;
	writer->to = text ? write_text(writer->to, from, len, SPELL_PIECE)
			  : write_base64(writer->to, from, len);
	value->start += len;
	if (last)
		writer->to = WRITE_LITERAL(writer->to, "\"}");
	return !last;
}

/* ---- Rows of a caller -------------------------------------------------------------------- */

int wcs_text_row(struct wcs_text *text, const struct wcs_keys *keys, const struct wcs_cell *cells,
		 size_t count)
{
	struct wcs_row_writer writer = {.keys = keys};
	size_t len = text->len;

	for (size_t i = 0; i < count; i++) {
		size_t most = wcs_row_write_head(&writer, &cells[i]) +
			      WCS_ROW_WRITE_VALUE(cells[i].value.len);

		if (grow(&text->bytes, &text->room, len + most, TEXT_ROOM, 1))
			return -ENOMEM;
		wcs_row_write_to(&writer, (unsigned char *)text->bytes + len);
		wcs_row_write_cell(&writer, &cells[i], cells[i].differs);
		wcs_row_write_value(&writer, cells[i].value, WCS_BYTES);
		if (i + 1 == count)
			wcs_row_write_finish(&writer);
		len = (size_t)(writer.to - (unsigned char *)text->bytes);
	}
	text->len = len;
	return 0;
}
