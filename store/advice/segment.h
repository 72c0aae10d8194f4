/* SPDX-License-Identifier: MIT */
/* The classes of segments of row keys. Private to store/advice. */
#ifndef WCS_ADVICE_SEGMENT_H
#define WCS_ADVICE_SEGMENT_H

#include "store/store.h"

enum segment_class {
	SEGMENT_TEXT,	 /* none of the others */
	SEGMENT_NUMBER,	 /* 1 to 19 digits, and no time */
	SEGMENT_COUNTED, /* a word with digits behind it: order-0001 */
	SEGMENT_TIME,	 /* a date, a time, or digits that are one of the years 2001 to 2099 */
	SEGMENT_HASH,	 /* a UUID, 16 hexadecimal digits or more, or as many mixed letters */
	SEGMENT_DOMAIN,	 /* a domain with its top-level label last */
	SEGMENT_MAIL,
	SEGMENT_ADDRESS, /* IPv4 or IPv6 */
	SEGMENT_BINARY,	 /* control bytes, or no UTF-8 */
	SEGMENT_CLASSES,
};

enum segment_class segment_class(struct wcs_slice segment);

#endif
