/* Scans a text: positions, blanks, comments, quoted texts, names of keys. parse.c has the grammar.
 * A function that returns bool sets the problem when it returns false, scan_is_... excepted. */
#ifndef SHERD_CONFIG_SCAN_H
#define SHERD_CONFIG_SCAN_H

#include "config/tree.h"

struct scan {
    struct tree *tree;
    const char *at; /* the next character; the text is lent */
    const char *end;
    const char *line_start;
    uint32_t line;
    const char *source; /* the tree's copy */
    const char *prefix; /* of the member of the root that is being read */
    struct config_problem *problem;
};

struct place scan_here(const struct scan *scan);
bool scan_at_end(const struct scan *scan);
char scan_peek(const struct scan *scan); /* '\0' at the end */
bool scan_starts(const struct scan *scan, const char *text); /* does this text follow? */
void scan_step(struct scan *scan); /* not at the end */
void scan_steps(struct scan *scan, size_t count);

/* Returns the bytes of the white space character at this place, 0 if there is none. A line feed is
 * none. */
size_t space_size(const char *at, const char *end);
void scan_spaces(struct scan *scan);
void scan_line(struct scan *scan); /* skips spaces and a comment, up to the end of the line */
void scan_blank(struct scan *scan); /* the same, over lines */

/* May the next character stand in a bare word? */
bool scan_is_bare(const struct scan *scan);
/* Skips one bare word, which begins here. A number may have a plus sign in its exponent. */
bool scan_word(struct scan *scan);
/* False at a limit of the tree. */
bool scan_has_room(const struct scan *scan);
void scan_put_utf8(struct buf *buf, uint32_t code);
/* Starts at a quotation mark. Appends to buf. */
bool scan_quoted(struct scan *scan, struct buf *buf);
/* Reads a key: names with dots between them, each of bare and quoted parts with the spaces between
 * them. */
bool scan_path(struct scan *scan, struct path *path);

#endif
