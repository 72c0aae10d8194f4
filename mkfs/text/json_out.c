/* SPDX-License-Identifier: MIT */
/* Writes JSON text. */
#include "mkfs/text/json_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "store/store.h"

/* Makes room for more bytes; false: there is no memory, now or before. */
static bool json_out_reserve(struct json_out *out, size_t more)
{
	out->failed = out->failed || grow(&out->bytes, &out->room, out->len + more, 65536, 1);
	return !out->failed;
}

void json_out_put(struct json_out *out, const char *text)
{
	size_t len = strlen(text);

	if (!json_out_reserve(out, len))
		return;
	memcpy(out->bytes + out->len, text, len);
	out->len += len;
}

void json_out_text(struct json_out *out, const unsigned char *bytes, size_t len)
{
	if (!json_out_reserve(out, 6 * len + 3))
		return;
	out->bytes[out->len++] = '"';
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < 0x20) {
			out->len += (size_t)sprintf(out->bytes + out->len, "\\u%04X", bytes[i]);
			continue;
		}
		if (bytes[i] == '"' || bytes[i] == '\\')
			out->bytes[out->len++] = '\\';
		out->bytes[out->len++] = (char)bytes[i];
	}
	out->bytes[out->len++] = '"';
}

void json_out_name(struct json_out *out, const unsigned char *bytes, size_t len)
{
	char *text = wcs_text_encode((struct wcs_slice){bytes, len});

	if (text)
		json_out_text(out, (unsigned char *)text, strlen(text));
	else
		out->failed = true;
	free(text);
}

void json_out_value(struct json_out *out, const unsigned char *bytes, size_t len)
{
	unsigned char rest[3] = {0}, *to;
	size_t ascii = 0, left = len % 3;

	while (ascii < len && bytes[ascii] < 0x80)
		ascii++;
	json_out_put(out, ascii == len ? "\"value\":" : "\"base64\":\"");
	if (ascii == len) {
		json_out_text(out, bytes, len);
		return;
	}
	if (!json_out_reserve(out, 2 * len + 6))
		return;
	to = wcs_text_base64((unsigned char *)out->bytes + out->len, bytes, len / 3);
	if (left > 0) {
		memcpy(rest, bytes + len - left, left);
		to = wcs_text_base64(to, rest, 1);
		memset(to - (3 - left), '=', 3 - left);
	}
	out->len = (size_t)(to - (unsigned char *)out->bytes);
	out->bytes[out->len++] = '"';
}
