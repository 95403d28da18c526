/* Declares the parser's state, and what the two files of the grammar need of each other. */
#ifndef SHERD_CONFIG_PARSER_H
#define SHERD_CONFIG_PARSER_H

#include "config/parse.h"
#include "config/scan.h"

struct parser {
    struct scan scan;
    const struct parse_options *options;
    struct node *root; /* prefixes have one name only in whole paths */
    uint32_t include_depth;
    struct path scope; /* where the text was included; empty: at the root */
    struct path here;  /* the enclosing names of this text */
    /* Reads the parser's text into an object. */
    bool (*read_root)(struct parser *parser, struct node *object,
                      uint32_t depth);
};

/* include.c: does an include stand here? */
bool include_starts(const struct parser *parser);
/* Reads the include and its text into the object. */
bool include_read(struct parser *parser, struct node *object, uint32_t depth);

/* properties.c: reads Java properties into the object; all values are texts, and dots divide names.
 * place: the text's name and prefix. */
bool properties_read(struct parser *parser, struct node *object,
                     uint32_t depth, struct slice text, struct place place);
/* Does the source's name end like that of a properties file? */
bool properties_is_name(const char *name);

#endif
