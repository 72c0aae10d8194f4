/* SPDX-License-Identifier: MIT */
/* A growing text of JSON. Not for two threads. */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: empty. The caller frees bytes. */
struct json_out {
	char *bytes;
	size_t len, room;
	bool failed; /* no memory: nothing is put any more */
};

void json_out_put(struct json_out *out, const char *text);
/* Puts a string in quotes. The bytes must be UTF-8. */
void json_out_text(struct json_out *out, const unsigned char *bytes, size_t len);
/* Puts a key or qualifier of any bytes in quotes, as row JSON spells it. */
void json_out_name(struct json_out *out, const unsigned char *bytes, size_t len);
/* Puts a cell's "value" if all bytes are ASCII, else its "base64". */
void json_out_value(struct json_out *out, const unsigned char *bytes, size_t len);

#endif
