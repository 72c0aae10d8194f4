/* SPDX-License-Identifier: MIT */
/*
 * Damages a store, past everything that it promises, by commands with semicolons between them:
 *
 *   put KEY BYTES, delete KEY    of LevelDB's keys
 *   get KEY, keys                print
 *   flip FILE AT                 a bit; a negative place counts from the end, here and below
 *   write FILE AT BYTES
 *   zero FILE AT COUNT           behind the end, too
 *   cut FILE LENGTH
 *   rm FILE, mv FILE NAME
 *   edit ITEM...                 appends an edit to the MANIFEST: numbers; of the first table
 *                                N, L, S, A, Z: number, level, size, first and last key
 *   batch NUMBER...              appends batches of one change to the log, with these sequence
 *                                numbers
 *   table WHICH plain [NUMBER]   writes the first table of 4 KiB, the largest, or that of a number
 *                                anew, without compression and under the next number, or that
 *   table WHICH PART AT BYTES    the same, with these bytes in its index or its first block of
 *                                data; the checksum is right
 *   table WHICH size SIZE        with that size of the index in its footer
 *   table WHICH wide             with index keys that are not smaller than the keys of the blocks
 *                                behind: a search passes these blocks, and reading on from there
 *                                reaches keys before the sought one
 *   table WHICH swap             with each block of data in the place of the next
 *
 * FILE is a path in the store, or part of a name in data/, and of these files the largest. KEY and
 * BYTES are hexadecimal, NAME is in data/. A command that fails ends the process.
 */
#ifndef TEST_FORGE_H
#define TEST_FORGE_H

#include <sys/types.h>

void forge(const char *store, const char *commands);
/* The path of such a FILE; returns its size. */
off_t forge_file(const char *store, const char *file, char path[512]);

#endif
