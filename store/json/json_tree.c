/* SPDX-License-Identifier: MIT */
/*
 * Texts that are no rows, as jansson's tree. The reader of rows checks the text before, for its
 * faults have places, and walks again to the place of a value that is refused, as a tree has none.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/json/json.h"

#define TREE_MOST  (1u << 21) /* bytes that separate values: each makes at most 160 of a tree */
#define TREE_LARGE (1u << 20) /* bytes of a text whose tree is given back to the system */

int wcs_json_load(const char *text, size_t len, struct wcs_fault *fault, wcs_json_read *read,
		  void *to)
{
	struct wcs_json_text in = {.fault = fault};
	struct wcs_json_at root = {.up = NULL};
	json_error_t why;
	size_t values = 0;
	int rc = wcs_json_start(&in, text, len, fault);

	if (rc == 0)
		rc = wcs_json_check(&in);
	for (size_t i = 0; rc == 0 && i < len; i++)
		values += strchr("[{,:", text[i]) != NULL;
	if (values > TREE_MOST)
		rc = wcs_fault_set(fault, -EFBIG, "JSON that takes too much memory to read");
	if (rc == 0) {
		root.json = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
		rc = root.json ? read(&in, &root, to) : -ENOMEM;
		if (!root.json && json_error_code(&why) == json_error_numeric_overflow) {
			rc = wcs_fault_set(fault, -EINVAL, "a number that no double holds");
			wcs_json_locate(&in, in.start + why.position);
		}
		json_decref(root.json);
	}
	wcs_json_free(&in);
#ifdef __GLIBC__
	if (len > TREE_LARGE)
		malloc_trim(0);
#endif
	return rc == -ENOMEM ? wcs_fault_set(fault, rc, "no memory") : rc;
}

/* Moves the reader to a value. Returns the start of its name, or of the value of an element. */
static const unsigned char *tree_find(struct wcs_json_text *in, const struct wcs_json_at *at)
{
	struct wcs_json_at inner = {.up = NULL};
	bool member = at->name.data != NULL;

	if (at->up) {
		tree_find(in, at->up);
		wcs_json_read_byte(&in->reader, member ? '{' : '[');
		while ((member ? wcs_json_member(in, &inner) : wcs_json_element(in, &inner)) == 1 &&
		       (member ? wcs_slice_compare(inner.name, at->name) != 0
			       : inner.count != at->count))
			wcs_json_skip(in, &inner);
	} else {
		in->reader.at = in->start;
		in->to = in->bytes;
		in->name_count = 0;
	}
	wcs_json_read_peek(&in->reader);
	return member ? inner.from : in->reader.at;
}

int wcs_json_refuse(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why)
{
	wcs_json_fault(in, -EINVAL, at, "%s", why);
	wcs_json_locate(in, tree_find(in, at));
	return -EINVAL;
}

int wcs_json_refuse_inside(struct wcs_json_text *in, const struct wcs_json_at *at,
			   const struct wcs_fault *why)
{
	int rc = wcs_json_refuse(in, at, why->text);
	const unsigned char *byte = in->reader.at + 1; /* behind the opening quote */

	for (int i = 1; i < why->column; i++)
		byte += *byte != '\\' ? 1 : byte[1] == 'u' ? 6 : 2;
	if (why->column > 0)
		wcs_json_locate(in, byte);
	return rc;
}

int wcs_json_members(struct wcs_json_text *in, const struct wcs_json_at *at,
		     const struct wcs_json_object *object, void *to)
{
	struct wcs_json_at inner = {.up = at};
	const char *name;
	int rc = json_is_object(at->json) ? 0 : wcs_json_refuse(in, at, object->is);

	for (void *each = json_object_iter(at->json); rc == 0 && each;
	     each = json_object_iter_next(at->json, each)) {
		size_t i = 0;

		name = json_object_iter_key(each);
		inner.name = (struct wcs_slice){name, strlen(name)};
		inner.json = json_object_iter_value(each);
		while (object->members[i].name && strcmp(object->members[i].name, name) != 0)
			i++;
		rc = object->members[i].read ? object->members[i].read(in, &inner, to)
					     : wcs_json_refuse(in, &inner, object->only);
	}
	return rc;
}

int wcs_json_words(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why,
		   const char **string)
{
	*string = json_string_value(at->json);
	return *string && strlen(*string) == json_string_length(at->json)
		       ? 0
		       : wcs_json_refuse(in, at, why);
}

/* json_dumps leaves out a name for which there is no memory. */
char *wcs_json_dump(json_t *json, size_t flags)
{
	size_t len = json_dumpb(json, NULL, 0, flags);
	char *text = len > 0 ? malloc(len + 2) : NULL;

	if (text && json_dumpb(json, text, len, flags) == len) {
		memcpy(text + len, "\n", 2);
	} else {
		free(text);
		text = NULL;
	}
	json_decref(json);
	return text;
}
