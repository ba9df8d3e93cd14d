/*
 * What is in a recorder: an mmapped array with an element for each CPU, in which handlers keep what has happened last
 * (compile/lower/recorder.c), and the script's side reads it without asking them (map/recorder.h).
 *
 * An element is a head of RECORDER_HEAD bytes, whose first word counts the records that were begun, and slots in a
 * circle. A slot is a word, the time, and the record. The word is 0 while the record is being written; then it has the
 * record's number, from 1 on, above RECORDER_TAG_BITS bits of the record's tag.
 */
#pragma once

enum { RECORDER_HEAD = 16, RECORDER_SLOT_HEAD = 16, RECORDER_TIME = 8, RECORDER_TAG_BITS = 16 };
