/* Signs of a configuration's text: where one is, blanks and comments, quoted texts, the names of keys. Called by parse.c, which
 * knows what may stand where.
 *
 * Functions that return a bool say false when the text is wrong; the problem is set then. */
#ifndef SHERD_CONFIG_SCAN_H
#define SHERD_CONFIG_SCAN_H

#include "config/tree.h"

struct scan {
    struct tree *tree;
    const char *at; /* the next sign; the text is lent */
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
bool scan_starts(const struct scan *scan, const char *text); /* does what follows? */
void scan_step(struct scan *scan); /* one sign further; not at the end */
void scan_steps(struct scan *scan, size_t count);

bool scan_is_space(char c); /* within a line */
void scan_spaces(struct scan *scan);
void scan_line(struct scan *scan); /* spaces and a comment, up to the end of the line */
void scan_blank(struct scan *scan); /* the same, over lines */

/* May what follows stand in a bare word? */
bool scan_is_bare(const struct scan *scan);
/* At a quotation mark. Appends to buf. */
bool scan_quoted(struct scan *scan, struct buf *buf);
/* The names of a key, with dots between them. */
bool scan_path(struct scan *scan, struct path *path);

#endif
