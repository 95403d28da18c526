/* Counts cells, writes and reads their lines, and prints the matrix. */
#include "sim/run/cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/run/lines.h"

#define NAME_WIDTH 29 /* of a row: "handoff coordinator-begins" and blanks */

void cells_add(struct cells *cells, const struct nemesis_cells sets[FAULT_VERBS])
{
    for (int verb = 0; verb < FAULT_VERBS; verb++) {
        for (int state = 0; state < NODE_STATE_COUNT; state++) {
            cells->met[verb][state] += sets[verb].met >> state & 1;
            cells->struck[verb][state] += sets[verb].struck >> state & 1;
        }
    }
}

static uint32_t count(const uint64_t table[FAULT_VERBS][NODE_STATE_COUNT])
{
    uint32_t some = 0;

    for (int verb = 0; verb < FAULT_VERBS; verb++)
        for (int state = 0; state < NODE_STATE_COUNT; state++)
            some += table[verb][state] > 0;
    return some;
}

uint32_t cells_met(const struct cells *cells)
{
    return count(cells->met);
}

uint32_t cells_struck(const struct cells *cells)
{
    return count(cells->struck);
}

/* ---- lines ---- */

void cells_write(const struct cells *cells, struct buf *out)
{
    for (int verb = 0; verb < FAULT_VERBS; verb++) {
        for (int state = 0; state < NODE_STATE_COUNT; state++) {
            char line[128];

            (void)snprintf(line, sizeof line,
                           "%" PRIu64 " %" PRIu64 " %s %s %s\n",
                           cells->met[verb][state],
                           cells->struck[verb][state],
                           fault_verb_name((enum fault_verb)verb),
                           node_state_automaton((enum node_state)state),
                           node_state_name((enum node_state)state));
            buf_put_text(out, line);
        }
    }
}

/* Reads a number and the blank after it. False: there is none. */
static bool take_number(char **at, uint64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    *number = strtoull(*at, &end, 10);
    if (*end != ' ')
        return false;
    *at = end + 1;
    return true;
}

static bool is_cell(const char *text, enum fault_verb verb,
                    enum node_state state)
{
    char name[96];

    (void)snprintf(name, sizeof name, "%s %s %s", fault_verb_name(verb),
                   node_state_automaton(state),
                   node_state_name(state));
    return strcmp(name, text) == 0;
}

static bool merge_line(void *arg, char *line)
{
    struct cells *cells = arg;
    uint64_t met, struck;

    if (*line == '#')
        return true;
    if (!take_number(&line, &met) || !take_number(&line, &struck))
        return false;
    for (int verb = 0; verb < FAULT_VERBS; verb++) {
        for (int state = 0; state < NODE_STATE_COUNT; state++) {
            if (!is_cell(line, (enum fault_verb)verb, (enum node_state)state))
                continue;
            cells->met[verb][state] += met;
            cells->struck[verb][state] += struck;
            return true;
        }
    }
    return false;
}

bool cells_merge(struct cells *cells, struct slice lines)
{
    return lines_read(lines, merge_line, cells);
}

/* ---- the matrix ---- */

/* Writes the names of the faults vertically, one column each. */
static void put_head(const char *indent, struct buf *out)
{
    size_t longest = 0;

    for (int verb = 0; verb < FAULT_VERBS; verb++)
        if (longest < strlen(fault_verb_name((enum fault_verb)verb)))
            longest = strlen(fault_verb_name((enum fault_verb)verb));
    for (size_t row = 0; row < longest; row++) {
        char line[NAME_WIDTH + 2 * FAULT_VERBS + 2];
        size_t used = NAME_WIDTH;

        memset(line, ' ', sizeof line);
        for (int verb = 0; verb < FAULT_VERBS; verb++) {
            const char *name = fault_verb_name((enum fault_verb)verb);
            size_t size = strlen(name);

            if (row < longest - size)
                continue; /* names are aligned at the bottom */
            line[NAME_WIDTH + 2 * verb] = name[row - (longest - size)];
            used = NAME_WIDTH + 2 * (size_t)verb + 1;
        }
        line[used] = 0;
        buf_put_text(out, indent);
        buf_put_text(out, line);
        buf_put_u8(out, '\n');
    }
}

static void put_row(const struct cells *cells, enum node_state state,
                    const char *indent, struct buf *out)
{
    char name[NAME_WIDTH + 1];

    (void)snprintf(name, sizeof name, "%-9s%s", node_state_automaton(state),
                   node_state_name(state));
    buf_put_text(out, indent);
    buf_put_text(out, name);
    for (size_t i = strlen(name); i < NAME_WIDTH; i++)
        buf_put_u8(out, ' ');
    for (int verb = 0; verb < FAULT_VERBS; verb++) {
        if (verb)
            buf_put_u8(out, ' ');
        buf_put_u8(out, cells->struck[verb][state] ? '#'
                        : cells->met[verb][state]  ? '+'
                                                   : '.');
    }
    buf_put_u8(out, '\n');
}

static void put_never(const struct cells *cells, enum node_state state,
                      const char *indent, struct buf *out)
{
    bool is_first = true;

    for (int verb = 0; verb < FAULT_VERBS; verb++) {
        if (cells->met[verb][state])
            continue;
        if (is_first) {
            buf_put_text(out, indent);
            buf_put_text(out, "never  ");
            buf_put_text(out, node_state_automaton(state));
            buf_put_text(out, " ");
            buf_put_text(out, node_state_name(state));
            buf_put_text(out, ":");
        }
        is_first = false;
        buf_put_text(out, " ");
        buf_put_text(out, fault_verb_name((enum fault_verb)verb));
    }
    if (!is_first)
        buf_put_u8(out, '\n');
}

void cells_put(const struct cells *cells, const char *indent, struct buf *out)
{
    put_head(indent, out);
    for (int state = 0; state < NODE_STATE_COUNT; state++)
        put_row(cells, (enum node_state)state, indent, out);
    for (int state = 0; state < NODE_STATE_COUNT; state++)
        put_never(cells, (enum node_state)state, indent, out);
}
