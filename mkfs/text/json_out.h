/* SPDX-License-Identifier: MIT */
/* A growing text of JSON. What is put must have been reserved. */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>

struct json_out {
	char *bytes;
	size_t len, room;
};

void json_out_free(struct json_out *out);
/* Room for so many bytes more. -ENOMEM. */
int json_out_reserve(struct json_out *out, size_t more);
void json_out_put(struct json_out *out, const char *text);
/* A string, in quotes; at most 6 * len + 2 bytes. The bytes must be UTF-8. */
void json_out_text(struct json_out *out, const unsigned char *bytes, size_t len);
/* A key or qualifier as row JSON spells it, any bytes; no more than that either. */
void json_out_name(struct json_out *out, const unsigned char *bytes, size_t len);
/* Base64 in quotes; at most 2 * len + 6 bytes. */
void json_out_base64(struct json_out *out, const unsigned char *bytes, size_t len);
/* Are they all ASCII? */
bool json_out_ascii(const unsigned char *bytes, size_t len);

#endif
