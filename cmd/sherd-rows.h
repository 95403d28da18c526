/* Prints answers of a node for people: tables of rows, and the fields of one object. */
#ifndef SHERD_CMD_ROWS_H
#define SHERD_CMD_ROWS_H

#include "sherd-client.h"

enum rows_form {
    ROWS_TEXT,   /* texts, numbers and flags as they are; a list with commas */
    ROWS_NUMBER, /* to the right */
    ROWS_SPAN,   /* milliseconds as "3.2s", "5d" */
    ROWS_TIME,   /* the time of day */
    ROWS_ID,     /* `id`, or else the bytes of `idHex` */
};

struct rows_column {
    const char *title; /* null: the end */
    const char *field; /* as "says.lanes" */
    enum rows_form form;
};

/* Prints one line for each row, below a line of titles. */
void rows_print(const struct rows_column *columns, const json_t *items);
/* Prints each field in a line, and lists of objects as tables below. */
void rows_print_object(const json_t *object);
/* A text of a node as one that no terminal obeys; at most `size` bytes with the end. */
void rows_clean(const char *text, char *to, size_t size);
/* Names the members that are missing from an answer, on standard error. CMD_GOOD: none is. */
enum cmd_exit rows_missing(const json_t *answer);
/* As "3.2s", "5m", "6d". */
void rows_span(int64_t ms, char *to, size_t size);

#endif
