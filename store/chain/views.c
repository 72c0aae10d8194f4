/* SPDX-License-Identifier: MIT */
/*
 * The names of views and the forms of their arguments:
 *
 *   KEY    the text of row JSON, with '/' as %2F; the empty one is %. It continues the prefix of
 *          the directory
 *   N      a decimal without leading zeros
 *   P      1, or 0. and up to 9 digits, of which the last is not 0
 *   TIME   microseconds, a date, an RFC 3339 time, now, or a span before now: 90s 15m 1h 7d
 *   RE     an expression
 *   F      a family; F:Q a column, of which Q is % if it is empty; F:Q=V a column and a text
 *
 * Escapes %XX stand for any bytes in all but N, P and TIME. A separator is found before they are
 * decoded, so an escaped one is no separator. A new view is a row in the table below and, unless
 * its argument has one of these forms, a function.
 */
#include "store/chain/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/names.h"
#include "lib/times.h"
#include "store/keys/keys.h"
#include "store/rows.h"
#include "store/table/table.h"

static int refuse(struct wcs_fault *fault, size_t offset, const char *reason)
{
	fault->line = 0;
	fault->column = (int)offset + 1;
	snprintf(fault->text, sizeof(fault->text), "%s", reason);
	return -EINVAL;
}

/* ---- Parts ------------------------------------------------------------------------------- */

/* Where that byte is in [from, to); `to`: nowhere. */
static size_t find(const struct wcs_view_text *argument, size_t from, size_t to, char byte)
{
	const char *text = argument->text.data;
	const char *at = to > from ? memchr(text + from, byte, to - from) : NULL;

	return at ? (size_t)(at - text) : to;
}

/* Decodes [from, to) of the argument behind the bytes that the step has. */
static int decode(const struct wcs_view_text *argument, size_t from, size_t to,
		  struct wcs_view_step *step, struct wcs_slice *bytes, struct wcs_fault *fault)
{
	const char *text = argument->text.data;
	unsigned char byte[3];
	size_t start = step->used, unit, one;

	for (size_t at = from; at < to; at += unit) {
		unit = text[at] == '%' ? sizeof(byte) : 1;
		if (to - at < unit || wcs_text_decode(text + at, unit, byte, &one) != 0)
			return refuse(fault, at, "a % has two upper-case hex digits behind it");
		if (step->used == sizeof(step->bytes))
			return -ENAMETOOLONG;
		step->bytes[step->used++] = byte[0];
	}
	*bytes = (struct wcs_slice){step->bytes + start, step->used - start};
	return 0;
}

/* Reads F or F:Q in [from, to), as the step's next column. */
static int parse_column(const struct wcs_view_text *argument, size_t from, size_t to,
			struct wcs_view_step *step, struct wcs_fault *fault)
{
	struct wcs_column *column = &step->columns[step->step.column_count];
	size_t colon = find(argument, from, to, ':'), qualifier = colon + 1;
	char name[WCS_FAMILY_NAME_MAX + 1] = "";
	int rc = decode(argument, from, colon, step, &column->family, fault);

	if (rc != 0)
		return rc;
	if (column->family.len <= WCS_FAMILY_NAME_MAX)
		memcpy(name, column->family.data, column->family.len);
	if (strlen(name) != column->family.len || !wcs_family_name_valid(name))
		return refuse(fault, from, "a family's name is 1 to 64 of -_.a-zA-Z0-9");
	column->qualifier = (struct wcs_slice){NULL, 0};
	if (colon < to && qualifier == to)
		return refuse(fault, colon, "a qualifier is behind the colon; the empty one is %");
	if (colon < to && to - qualifier == 1 && find(argument, qualifier, to, '%') < to)
		column->qualifier.data = "";
	else if (colon < to)
		rc = decode(argument, qualifier, to, step, &column->qualifier, fault);
	step->step.columns = step->columns;
	step->step.column_count++;
	return rc;
}

/* ---- Forms ------------------------------------------------------------------------------- */

static int parse_none(const struct wcs_view_text *argument, struct wcs_view_step *step,
		      struct wcs_fault *fault)
{
	(void)step;
	return argument->text.len == 0 ? 0 : refuse(fault, 0, "the view takes no argument");
}

/* The segments before those of a KEY. */
static size_t segments_before(const struct wcs_view_text *argument)
{
	const unsigned char *bytes = argument->key ? argument->key->data : NULL;
	size_t count = argument->key != NULL;

	for (size_t i = 0; argument->key && i < argument->key->len; i++)
		count += bytes[i] == argument->delimiter;
	return count;
}

/* Appends the bytes of a shown form to those that the step has. */
static int parse_shown(const struct wcs_view_text *argument, struct wcs_view_step *step,
		       struct wcs_fault *fault)
{
	const struct wcs_keys plain = wcs_keys_plain(argument->delimiter);
	struct wcs_keys_any any = {.now = argument->now};
	unsigned char bytes[WCS_ROW_KEY_MAX];
	size_t len;
	int rc = wcs_keys_parse(argument->keys ? argument->keys : &plain, segments_before(argument),
				argument->text, &any, bytes, &len, fault);

	if (rc == 0 && len > sizeof(step->bytes) - step->used)
		return -ENAMETOOLONG;
	if (rc != 0)
		return rc;
	if (len > 0)
		memcpy(step->bytes + step->used, bytes, len);
	step->used += len;
	step->step.ago = any.relative;
	return 0;
}

static int parse_key(const struct wcs_view_text *argument, struct wcs_view_step *step,
		     struct wcs_fault *fault)
{
	size_t len = argument->text.len;
	struct wcs_slice rest;
	int rc = 0;

	if (len == 0)
		return refuse(fault, 0, "it is the text of a key; the empty one is %");
	if (argument->key && argument->key->len >= sizeof(step->bytes))
		return -ENAMETOOLONG;
	if (argument->key) {
		step->used = argument->key->len;
		if (step->used > 0)
			memcpy(step->bytes, argument->key->data, step->used);
		step->bytes[step->used++] = argument->delimiter;
	}
	if (argument->keys || memmem(argument->text.data, len, "%=", 2))
		rc = len == 1 && *(const char *)argument->text.data == '%'
			     ? 0
			     : parse_shown(argument, step, fault);
	else if (len > 1 || *(const char *)argument->text.data != '%')
		rc = decode(argument, 0, len, step, &rest, fault);
	step->step.bytes = (struct wcs_slice){step->bytes, step->used};
	return rc;
}

/* Reads the digits at the argument's beginning, without leading zeros. Returns where they end. */
static size_t digits(const struct wcs_view_text *argument, uint64_t *number)
{
	const char *text = argument->text.data;
	size_t at = 0;

	*number = 0;
	for (; at < argument->text.len && text[at] >= '0' && text[at] <= '9'; at++) {
		uint64_t digit = (uint64_t)(text[at] - '0');

		if ((at == 1 && *number == 0) || *number > (UINT64_MAX - digit) / 10)
			break;
		*number = 10 * *number + digit;
	}
	return at;
}

static int parse_number(const struct wcs_view_text *argument, struct wcs_view_step *step,
			struct wcs_fault *fault)
{
	size_t end = digits(argument, &step->step.number);

	if (argument->key) {
		step->within = *argument->key;
		step->step.within = &step->within;
	}
	if (end == 0 || end < argument->text.len)
		return refuse(fault, end, "it is a whole number below 2^64, without leading zeros");
	return 0;
}

static int parse_share(const struct wcs_view_text *argument, struct wcs_view_step *step,
		       struct wcs_fault *fault)
{
	static const char reason[] = "it is 1, or 0. and up to 9 digits of which the last is not 0";
	const char *text = argument->text.data;
	size_t len = argument->text.len, at = 2;
	uint32_t unit = WCS_SAMPLE_WHOLE, number = 0;

	if (len == 1 && text[0] == '1') {
		step->step.number = WCS_SAMPLE_WHOLE;
		return 0;
	}
	if (len == 0 || text[0] != '0')
		return refuse(fault, len > 0 && text[0] == '1', reason);
	if (len == 1 || text[1] != '.')
		return refuse(fault, 1, reason);
	for (; at < len && text[at] >= '0' && text[at] <= '9' && unit > 1; at++) {
		unit /= 10;
		number += unit * (uint32_t)(text[at] - '0');
	}
	if (at < len || at == 2)
		return refuse(fault, at, reason);
	if (text[len - 1] == '0')
		return refuse(fault, len - 1, reason);
	step->step.number = number;
	return 0;
}

static int parse_time(const struct wcs_view_text *argument, struct wcs_view_step *step,
		      struct wcs_fault *fault)
{
	if (times_parse_any(argument->text.data, argument->text.len, &step->step.time,
			    &step->step.ago) == 0) {
		times_ask(argument->text.data, argument->text.len, fault->text);
		return 0;
	}
	return refuse(fault, 0,
		      "it is microseconds since 1970, a date, a time like 2024-01-31T10:00:00Z, "
		      "now, or a span before now like 90s 15m 1h 7d");
}

static int parse_expression(const struct wcs_view_text *argument, struct wcs_view_step *step,
			    struct wcs_fault *fault)
{
	return decode(argument, 0, argument->text.len, step, &step->step.bytes, fault);
}

static int parse_family(const struct wcs_view_text *argument, struct wcs_view_step *step,
			struct wcs_fault *fault)
{
	size_t len = argument->text.len, colon = find(argument, 0, len, ':');

	if (colon < len)
		return refuse(fault, colon, "it is a family alone; .columns takes columns");
	return parse_column(argument, 0, len, step, fault);
}

static int parse_has(const struct wcs_view_text *argument, struct wcs_view_step *step,
		     struct wcs_fault *fault)
{
	return parse_column(argument, 0, argument->text.len, step, fault);
}

static int parse_columns(const struct wcs_view_text *argument, struct wcs_view_step *step,
			 struct wcs_fault *fault)
{
	size_t len = argument->text.len, at = 0, end;
	int rc;

	do {
		end = find(argument, at, len, ',');
		rc = parse_column(argument, at, end, step, fault);
		at = end + 1;
	} while (rc == 0 && end < len);
	return rc;
}

static int parse_where(const struct wcs_view_text *argument, struct wcs_view_step *step,
		       struct wcs_fault *fault)
{
	size_t len = argument->text.len, colon = find(argument, 0, len, ':');
	size_t equals = colon < len ? find(argument, colon, len, '=') : len;
	int rc;

	if (equals == len)
		return refuse(fault, len, "it is a family, a colon, a qualifier, = and a value");
	rc = parse_column(argument, 0, equals, step, fault);
	return rc != 0 ? rc : decode(argument, equals + 1, len, step, &step->step.bytes, fault);
}

/* ---- Views ------------------------------------------------------------------------------- */

/* Sorted by name. */
static const struct wcs_view_name views[] = {
	{"at", "TIME", WCS_VIEW_PLAIN, WCS_SHOWS_TIMES, WCS_STEP_AT, parse_time},
	{"column", "RE", WCS_VIEW_PLAIN, WCS_SHOWS_CELLS, WCS_STEP_COLUMN, parse_expression},
	{"columns", "F:Q,F,...", WCS_VIEW_PLAIN, WCS_SHOWS_CELLS, WCS_STEP_COLUMNS, parse_columns},
	{"family", "F", WCS_VIEW_FAMILY, WCS_SHOWS_CELLS, WCS_STEP_COLUMNS, parse_family},
	{"first", "N", WCS_VIEW_PLAIN, WCS_SHOWS_ORDER, WCS_STEP_FIRST, parse_number},
	{"from", "KEY", WCS_VIEW_KEY, WCS_SHOWS_ROWS, WCS_STEP_FROM, parse_key},
	{"has", "F or F:Q", WCS_VIEW_FAMILY, WCS_SHOWS_ROWS, WCS_STEP_HAS, parse_has},
	{"key", "RE", WCS_VIEW_PLAIN, WCS_SHOWS_ROWS, WCS_STEP_KEY, parse_expression},
	{"last", "N", WCS_VIEW_PLAIN, WCS_SHOWS_ORDER, WCS_STEP_LAST, parse_number},
	{"newest", "N", WCS_VIEW_PLAIN, WCS_SHOWS_CELLS, WCS_STEP_NEWEST, parse_number},
	{"prefix", "KEY", WCS_VIEW_KEY, WCS_SHOWS_ROWS, WCS_STEP_PREFIX, parse_key},
	{"raw", NULL, WCS_VIEW_PLAIN, WCS_SHOWS_STORED, WCS_STEP_RAW, parse_none},
	{"reverse", NULL, WCS_VIEW_PLAIN, WCS_SHOWS_ORDER, WCS_STEP_REVERSE, parse_none},
	{"sample", "P", WCS_VIEW_PLAIN, WCS_SHOWS_ROWS, WCS_STEP_SAMPLE, parse_share},
	{"since", "TIME", WCS_VIEW_PLAIN, WCS_SHOWS_TIMES, WCS_STEP_SINCE, parse_time},
	{"to", "KEY", WCS_VIEW_KEY, WCS_SHOWS_ROWS, WCS_STEP_TO, parse_key},
	{"until", "TIME", WCS_VIEW_PLAIN, WCS_SHOWS_TIMES, WCS_STEP_UNTIL, parse_time},
	{"value", "RE", WCS_VIEW_PLAIN, WCS_SHOWS_CELLS, WCS_STEP_VALUE, parse_expression},
	{"where", "F:Q=V", WCS_VIEW_PLAIN, WCS_SHOWS_ROWS, WCS_STEP_WHERE, parse_where},
};

const struct wcs_view_name *wcs_view_name(size_t i)
{
	return i < sizeof(views) / sizeof(views[0]) ? &views[i] : NULL;
}

const struct wcs_view_name *wcs_view_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strlen(views[i].name) == len && memcmp(views[i].name, name, len) == 0)
			return &views[i];
	return NULL;
}

int wcs_view_parse(const struct wcs_view_name *view, const struct wcs_view_text *argument,
		   struct wcs_view_step *step, struct wcs_fault *fault)
{
	if (view->form != WCS_VIEW_KEY && argument->text.len > WCS_ARGUMENT_MAX)
		return -ENAMETOOLONG;
	step->step = (struct wcs_step){.kind = view->kind};
	step->used = 0;
	return view->parse(argument, step, fault);
}

/* The offset in the argument of the n-th byte that it stands for. */
static int offset_of(struct wcs_slice text, int n)
{
	size_t at = 0;

	for (; n > 0 && at < text.len; n--)
		at += ((const char *)text.data)[at] == '%' ? 3 : 1;
	return (int)at;
}

int wcs_view_add(struct wcs_table *table, struct wcs_chain *before,
		 const struct wcs_view_name *view, const struct wcs_view_text *argument,
		 struct wcs_chain **chain, struct wcs_fault *fault)
{
	struct wcs_view_text shown = *argument;
	struct wcs_view_step step;
	int rc;

	shown.keys = wcs_chain_raw(before) ? NULL : wcs_table_keys(table);
	shown.now = store_now(table->store);
	rc = wcs_view_parse(view, &shown, &step, fault);
	if (rc != 0)
		return rc;
	rc = wcs_chain_add(table, before, &step.step, chain, fault);
	if (rc == -EINVAL && fault->column > 0)
		fault->column = offset_of(argument->text, fault->column - 1) + 1;
	return rc;
}

/* ---- Chains ------------------------------------------------------------------------------ */

/* Takes the text up to the next '/'. */
static struct wcs_slice component(const char **text)
{
	struct wcs_slice taken = {*text, strcspn(*text, "/")};

	*text += taken.len;
	*text += strspn(*text, "/");
	return taken;
}

/* Takes an argument, and joins its chunks in buf, which has room for the text. */
static int take_argument(const char **text, bool key, char *buf, struct wcs_slice *argument,
			 struct wcs_fault *fault)
{
	struct wcs_slice chunk = component(text);
	size_t len = 0;
	bool more = true;

	*argument = chunk;
	if (!key || !names_is_chunk(chunk.data, chunk.len))
		return 0;
	while (names_join(NAMES_TEXT, buf, len, chunk.data, chunk.len, buf, &len, &more) == 0) {
		*argument = (struct wcs_slice){buf, len};
		if (!more)
			return 0;
		chunk = component(text);
	}
	return refuse(fault, len, WCS_VIEW_SPLIT);
}

/* Puts the view before the reason. */
static void name_view(struct wcs_fault *fault, const char *view, size_t len)
{
	char reason[sizeof(fault->text)];

	strcpy(reason, wcs_fault_words(fault));
	snprintf(fault->text, sizeof(fault->text), "%.*s: %.300s", len < 80 ? (int)len : 80, view,
		 reason);
}

/* Takes a segment of the text, which may go on in chunks, and adds it to the place. */
static int take_segment(struct wcs_table *table, const char **text, char *buf,
			const struct wcs_chain *chain, struct wcs_view_place *place,
			struct wcs_fault *fault)
{
	const struct wcs_keys *keys = wcs_chain_raw(chain) ? NULL : wcs_table_keys(table);
	const struct names_families families = {wcs_families_has, table};
	unsigned char delimiter = wcs_table_delimiter(table);
	unsigned char bytes[WCS_ROW_KEY_MAX + WCS_KEYS_SHOWN_MAX];
	const char *start = *text;
	struct wcs_slice name;
	struct wcs_fault own = {0};
	size_t len, between = place->depth > 0;
	int rc = take_argument(text, true, buf, &name, &own);

	if (rc == 0 && wcs_family_exists(table, name))
		rc = refuse(&own, 0, "it is a family, in which no view stands");
	if (rc == 0)
		rc = wcs_keys_name_parse(keys, place->depth, &families, name, bytes, &len, &own);
	if (rc == -EINVAL && own.text[0] == '\0')
		refuse(&own, 0, "it is no name of a segment (rowfs(5))");
	if (rc == 0 && memchr(bytes, delimiter, len))
		rc = refuse(&own, 0, "it holds the delimiter, at which keys become paths");
	if (rc == 0 && len + between > sizeof(place->key) - place->len)
		rc = -ENAMETOOLONG;
	if (rc == -EINVAL) {
		own.column = 0;
		name_view(&own, start, (size_t)(*text - start) - ((*text)[-1] == '/'));
	}
	if (rc != 0) {
		*fault = own;
		return rc;
	}
	if (between)
		place->key[place->len++] = delimiter;
	if (len > 0)
		memcpy(place->key + place->len, bytes, len);
	place->len += len;
	place->depth++;
	return 0;
}

/* Takes a view of the text, and adds it to the chain. */
static int take_view(struct wcs_table *table, const char **text, char *buf,
		     struct wcs_chain **chain, const struct wcs_view_place *place,
		     struct wcs_fault *fault)
{
	const struct wcs_slice row = {place->key, place->len};
	struct wcs_view_text argument = {.delimiter = wcs_table_delimiter(table),
					 .key = place->depth > 0 ? &row : NULL};
	const char *start = *text;
	struct wcs_slice name = component(text);
	const struct wcs_view_name *view =
		*start == '.' ? wcs_view_find(start + 1, name.len - 1) : NULL;
	struct wcs_fault own = {0};
	struct wcs_chain *longer;
	int rc = 0;

	if (!view)
		rc = refuse(&own, 0, "there is no such view");
	else if (view->kind == WCS_STEP_RAW && place->depth > 0)
		rc = refuse(&own, 0, ".raw must be the first view, in the table");
	if (rc != 0)
		own.column = 0;
	if (rc == 0 && view->argument)
		rc = take_argument(text, view->form == WCS_VIEW_KEY, buf, &argument.text, &own);
	if (rc == 0)
		rc = wcs_view_add(table, *chain, view, &argument, &longer, &own);
	if (rc == 0) {
		wcs_chain_free(*chain);
		*chain = longer;
	}
	if (rc == -EINVAL || own.text[0])
		name_view(&own, start, (size_t)(*text - start) - ((*text)[-1] == '/'));
	if (rc != 0 || !fault->text[0])
		*fault = own;
	return rc;
}

int wcs_view_chain(struct wcs_table *table, const char *text, struct wcs_chain **chain,
		   struct wcs_view_place *place, struct wcs_fault *fault)
{
	char *buf = malloc(strlen(text) + 1);
	struct wcs_chain *made = NULL;
	int rc = buf ? 0 : -ENOMEM;

	*fault = (struct wcs_fault){0};
	place->depth = place->len = 0;
	while (rc == 0 && *text)
		rc = *text == '.' ? take_view(table, &text, buf, &made, place, fault)
				  : take_segment(table, &text, buf, made, place, fault);
	free(buf);
	if (rc == 0)
		*chain = made;
	else
		wcs_chain_free(made);
	return rc;
}

bool wcs_view_descends(const char *text)
{
	const struct wcs_view_name *view;
	struct wcs_slice name;

	while (*text == '.') {
		name = component(&text);
		view = wcs_view_find((const char *)name.data + 1, name.len - 1);
		if (!view || !view->argument)
			continue;
		do
			name = component(&text);
		while (view->form == WCS_VIEW_KEY && names_is_chunk(name.data, name.len));
	}
	return *text != '\0';
}

/* ---- Keys -------------------------------------------------------------------------------- */

/* Spells a row as KEY, without the bytes before it, in one piece; the caller frees it. NULL: no
 * memory. */
static char *spell(const struct wcs_keys *keys, struct wcs_slice row, size_t before)
{
	char *first =
		wcs_keys_text(keys, (struct wcs_slice){row.data, before > 0 ? before - 1 : 0});
	char *shown = wcs_keys_text(keys, row), *text = shown, *whole = NULL, *to;
	size_t len;
	bool dots;

	if (first == NULL || shown == NULL)
		goto out;
	if (before > 0) { /* a delimiter that is no control byte is as it is */
		text += before == 1 && wcs_keys_coded(keys, 0) ? 2 : strlen(first);
		text += *text == '%' ? 3 : 1;
	}
	len = strlen(text);
	dots = len > 0 && len <= 2 && strspn(text, ".") == len;
	whole = malloc(3 * len + 2);
	to = whole;
	for (size_t i = 0; whole && i < len; i++) {
		if (text[i] == '/' || dots)
			to += sprintf(to, "%%%02X", (unsigned)text[i]);
		else
			*to++ = text[i];
	}
	if (whole)
		strcpy(to, len == 0 ? "%" : "");
out:
	free(first);
	free(shown);
	return whole;
}

int wcs_view_key(const struct wcs_keys *keys, struct wcs_slice row, const struct wcs_slice *key,
		 unsigned char delimiter, char **text)
{
	size_t before = key ? key->len + 1 : 0, at = 0, len, used = 0, component_len;
	const unsigned char *bytes = row.data;
	char *whole, *made;

	if (row.len < before ||
	    (key && (bytes[key->len] != delimiter ||
		     (key->len > 0 && memcmp(bytes, key->data, key->len) != 0))))
		return -ENOENT;
	whole = spell(keys, row, before);
	len = whole ? strlen(whole) : 0;
	made = whole ? malloc(len + 2 * (len / (NAMES_CHUNK_MAX / 2) + 1) + 5) : NULL;
	while (made && at < len) {
		if (at > 0)
			made[used++] = '/';
		at = names_component(whole, len, at, made + used, &component_len);
		used += component_len;
	}
	free(whole);
	if (!made)
		return -ENOMEM;
	*text = made;
	return 0;
}
