/* SPDX-License-Identifier: MIT */
/* JSON text: the cases of RFC 8259 as JSONTestSuite lists them, as values in an object. */
#include "tests/unit/suite.h"

#include <errno.h>

/* clang-format off */
#define T(text) {text, sizeof(text) - 1}

/* The RFC lets a reader refuse the last four, which no double holds exactly. */
static const struct wcs_slice valid[] = {
	T("[[]   ]"), T("[\"\"]"), T("[]"), T("[\"a\"]"), T("[false]"),
	T("[null, 1, \"1\", {}]"), T("[1\012]"), T(" [1]"), T("[1,null,null,null,2]"), T("[2] "),
	T("[123e65]"), T("[0e+1]"), T("[0e1]"), T("[ 4]"),
	T("[-0.00000000000000000000000000000000000000000000000000000000000000000000000000001]"),
	T("[20e1]"), T("[-0]"), T("[-123]"), T("[-1]"), T("[1E22]"), T("[1E-2]"), T("[1E+2]"),
	T("[123.456e78]"), T("[1e-2]"), T("[1e+2]"), T("[123.456789]"),
	T("{\"asd\":\"sdf\", \"dasd\":\"fgh\"}"), T("{}"), T("{\"\":0}"),
	T("{ \"min\": -1.0e+28, \"max\": 1.0e+28 }"),
	T("{\"x\":[{\"id\": \"xx\"}], \"id\": \"xx\"}"), T("{\"title\":\"\\u041f\\u043e\" }"),
	T("{\012\"a\": \"b\"\012}"), T("[\"\\u0060\\u012a\\u12AB\"]"), T("[\"\\uD801\\udc37\"]"),
	T("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]"), T("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]"),
	T("[\"\\\\u0000\"]"), T("[\"\\\"\"]"), T("[\"a/*b*/c/*d//e\"]"), T("[\"\\\\a\"]"),
	T("[\"\\u0012\"]"), T("[\"\\uFFFF\"]"), T("[\"\\uDBFF\\uDFFF\"]"),
	T("[\"\364\217\277\277\"]"), T("[\"\357\277\277\"]"), T("[\"\\u0000\"]"),
	T("[\"\317\200\"]"), T("[\"\360\233\277\277\"]"), T("\" \""),
	T("[\"\342\200\250\342\200\251\"]"), T("[\"\\u000A\"]"), T("[\"\177\"]"),
	T("[\"\\u005C\"]"), T("[\"\342\202\254\360\235\204\236\"]"), T("false"), T("42"),
	T("-0.1"), T("null"), T("\"asd\""), T("true"), T("\"\""), T(" [] "), T("[123.456e-789]"),
	T("[0.4e006699999999]"), T("[-1e+9999]"), T("[1.5e+9999]"),
};

/* From "\\uDADA" on the RFC leaves it open. */
static const struct wcs_slice wrong[] = {
	T("[\"\": 1]"), T("[\"a\": 1]"), T("[1 true]"), T("[a\345]"), T("[\"\"],"), T("[,1]"),
	T("[1,,2]"), T("[\"x\",,]"), T("[\"x\"]]"), T("[\"\",]"), T("[\"x\""), T("[x"),
	T("[3[4]]"), T("[\377]"), T("[1:2]"), T("[,]"), T("[-]"), T("[   , \"\"]"),
	T("[\"a\",\0124\012,1,"), T("[1,]"), T("[\"\013a\"\\f]"), T("[*]"), T("[1,\0121\012,1"),
	T("[{}"), T("[fals]"), T("[nul]"), T("[tru]"), T("[123\000]"), T("[++1234]"), T("[+1]"),
	T("[+Inf]"), T("[-01]"), T("[-1.0.]"), T("[-2.]"), T("[-NaN]"), T("[.-1]"), T("[.2e-3]"),
	T("[0.1.2]"), T("[0.3e+]"), T("[0.3e]"), T("[0.e1]"), T("[0E+]"), T("[0E]"),
	T("[1.0e-]"), T("[1 000.0]"), T("[1eE2]"), T("[2.e+3]"), T("[2.e3]"), T("[9.e+]"),
	T("[Inf]"), T("[NaN]"), T("[\357\274\221]"), T("[1+2]"), T("[0x1]"), T("[Infinity]"),
	T("[0e+-1]"), T("[-123.123foo]"), T("[123\345]"), T("[1e1\345]"), T("[0\345]"),
	T("[-Infinity]"), T("[-foo]"), T("[- 1]"), T("[-012]"), T("[-.123]"), T("[-1x]"),
	T("[1ea]"), T("[1e\345]"), T("[1.]"), T("[.123]"), T("[1.2a-3]"), T("[1.8H-308]"),
	T("[012]"), T("[\"x\", truth]"), T("{[: \"x\"}"), T("{\"x\", null}"),
	T("{\"x\"::\"b\"}"), T("{\360\237\207\250}"), T("{\"a\":\"a\" 123}"),
	T("{key: 'value'}"), T("{\"\271\":\"0\",}"), T("{\"a\" b}"), T("{:\"b\"}"),
	T("{\"a\" \"b\"}"), T("{\"a\":"), T("{\"a\""), T("{1:1}"), T("{9999E9999:1}"),
	T("{null:null}"), T("{\"id\":0,,,}"), T("{'a':0}"), T("{\"id\":0,}"),
	T("{\"a\":\"b\"}/**/"), T("{\"a\":\"b\"}//"), T("{\"a\":\"b\"}/"),
	T("{\"a\":\"b\",,\"c\":\"d\"}"), T("{a: \"b\"}"), T("{\"a\":\"a"),
	T("{ \"foo\" : \"bar\", \"a\" }"), T("{\"a\":\"b\"}#"), T(" "), T("[\"\\uD800\\\"]"),
	T("[\"\\uD800\\u\"]"), T("[\"\\uD800\\u1\"]"), T("[\"\\uD800\\u1x\"]"), T("[\303\251]"),
	T("[\"\\x00\"]"), T("[\"\\\\\\\"]"), T("[\"\\\011\"]"), T("[\"\\\360\237\214\200\"]"),
	T("[\"\\\"]"), T("[\"\\u00A\"]"), T("[\"\\uD834\\uDd\"]"), T("[\"\\uD800\\uD800\\x\"]"),
	T("[\"\\u\345\"]"), T("[\"\\a\"]"), T("[\"\\uqqqq\"]"), T("[\"\\\345\"]"),
	T("[\\u0020\"asd\"]"), T("[\\n]"), T("\""), T("['single quote']"), T("abc"), T("[\"\\"),
	T("[\"a\000a\"]"), T("[\"new\012line\"]"), T("[\"\011\"]"), T("\"\\UA66D\""), T("\"\"x"),
	T("<.>"), T("[<null>]"), T("[1]x"), T("[1]]"), T("[\"asd]"), T("[True]"), T("1]"),
	T("{\"x\": true,"), T("[][]"), T("]"), T("\357\273{}"), T("\303\245"), T("["), T(""),
	T("2@"), T("{}}"), T("{\"\":"), T("{\"a\":/*comment*/\"b\"}"), T("{\"a\": true} \"x\""),
	T("['a'"), T("[,"), T("{,"), T("{["), T("{\"a"), T("[\"\\{[\"\\{[\"\\{"), T("\351"),
	T("*"), T("[\\u000A\"\"]"), T("[1"), T("[ false, nul"), T("\342\201\240"),
	T("\357\273\277"), T("[\014]"), T("[\"\\uDADA\"]"), T("[\"\\uD888\\u1234\"]"),
	T("[\"\\uD800\\n\"]"), T("[\"\\uDd1ea\"]"), T("[\"\\uD800\\uD800\\n\"]"),
	T("[\"\\ud800abc\"]"), T("[\"\377\"]"), T("[\"\355\240\200\"]"), T("[\"\300\257\"]"),
	T("[\"\340\377\"]"), T("[\"\364\277\277\277\"]"), T("[\"\201\"]"),
	T("[\"\374\200\200\200\200\200\"]"), T("\357\273\277{}"),
	T("[\000\"\000\351\000\"\000]\000"),
};
/* clang-format on */

/* No row has a member x, so that a fault of syntax is the only other one. */
static void value(struct wcs_slice text, const char *says)
{
	struct wcs_line *line = NULL;
	struct wcs_fault fault = {0};
	char whole[8192];
	size_t len = text.len + 6;

	memcpy(whole, "{\"x\":", 5);
	memcpy(mempcpy(whole + 5, text.data, text.len), "}", 1);
	ck_assert_int_eq(wcs_line_parse(whole, len, NULL, &line, &fault), -EINVAL);
	ck_assert_msg(strncmp(fault.text, says, strlen(says)) == 0, "%.*s: %s", (int)len, whole,
		      fault.text);
}

SUITE_TEST(test_rfc_8259, 10)
{
	char deep[1100];

	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		value(valid[i], "x: a row has only");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		value(wrong[i], "not JSON: ");
	memset(deep, '[', 550);
	memset(deep + 550, ']', 550);
	value((struct wcs_slice){deep + 50, 1000}, "x: a row has only");
	value((struct wcs_slice){deep, 1100}, "objects and lists are more than 512 deep");
	value((struct wcs_slice)T("{\"a\":\"b\",\"a\":\"b\"}"), "x.a: named twice");
	value((struct wcs_slice)T("{\"foo\\u0000bar\": 42}"), "not JSON: a NUL in a name");
	value((struct wcs_slice)T("[\"\\ud800abc\"]"), "not JSON: a lone surrogate");
	value((struct wcs_slice)T("[\"\\ud800\\u0041\"]"), "not JSON: a lone surrogate");
}
