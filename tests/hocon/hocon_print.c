/* Prints what a configuration file means, for hocon_test.py: reads names of files from the standard
 * input, and writes one line for each, the resolved tree or the error. The environment is as given. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "config/parse.h"
#include "config/resolve.h"

extern char **environ;

static bool read_file(const char *path, struct buf *text)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file)
        return false;
    do {
        size = fread(buf_reserve(text, 4096), 1, 4096, file);
        text->size += size;
    } while (size > 0);
    (void)fclose(file);
    return true;
}

static bool include(void *user, const char *name, const char *from,
                    struct slice *text)
{
    const char *folder = strrchr(from, '/');
    char path[4096];

    (void)snprintf(path, sizeof path, "%.*s%s",
                   folder && name[0] != '/' ? (int)(folder - from) + 1 : 0,
                   from, name);
    buf_clear(user);
    if (!read_file(path, user))
        return false;
    *text = buf_slice(user);
    return true;
}

static void put_text(const char *text, size_t size)
{
    putchar('"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < ' ' || c == '"' || c == '\\')
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static int by_name(const void *left, const void *right)
{
    const struct field *const *a = left;
    const struct field *const *b = right;

    return strcmp((*a)->name, (*b)->name);
}

static void put_node(const struct node *node);

static void put_object(const struct node *object)
{
    const struct field **fields;
    size_t count = 0;

    for (struct field *at = object->fields; at; at = at->next)
        count++;
    fields = mem_alloc((count + 1) * sizeof *fields);
    count = 0;
    for (struct field *at = object->fields; at; at = at->next)
        fields[count++] = at;
    qsort(fields, count, sizeof *fields, by_name);
    putchar('{');
    for (size_t i = 0; i < count; i++) {
        printf(i ? ", " : "");
        put_text(fields[i]->name, strlen(fields[i]->name));
        printf(": ");
        put_node(fields[i]->value);
    }
    putchar('}');
    mem_free(fields);
}

static void put_node(const struct node *node)
{
    if (node->kind == NODE_OBJECT) {
        put_object(node);
    } else if (node->kind == NODE_ARRAY) {
        putchar('[');
        for (struct item *item = node->items; item; item = item->next) {
            put_node(item->node);
            if (item->next)
                printf(", ");
        }
        putchar(']');
    } else if (tree_is_null(node)) {
        printf("null");
    } else {
        put_text(node->text, node->size);
    }
}

static void print(const char *path, const struct map *environment)
{
    struct config_problem problem = { .text = "no problem" };
    struct buf text = { 0 };
    struct buf included = { 0 };
    struct tree tree;
    struct missing *missing = NULL;
    struct node *root = NULL;
    uint32_t includes = 0;
    struct parse_options options = { include, &included, &includes, &missing };

    tree_init(&tree);
    if (!read_file(path, &text)) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    if (config_parse_text(&tree, &options, buf_slice(&text), path, &problem))
        root = tree_resolve(&tree, environment, NULL, &problem);
    if (root)
        put_node(root);
    else
        printf("error: %s", problem.text);
    putchar('\n');
    tree_fini(&tree);
    buf_fini(&text);
    buf_fini(&included);
}

int main(void)
{
    struct map environment = { 0 };
    char path[4096];

    for (char **at = environ; *at; at++) {
        char *equals = strchr(*at, '=');

        if (equals)
            (void)map_put(&environment,
                          slice_of(*at, (size_t)(equals - *at)), equals + 1);
    }
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = '\0';
        print(path, &environment);
    }
    map_fini(&environment);
    return 0;
}
