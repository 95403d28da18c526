/* Declares how commands run the code of an application (sherd/inspect.h) on an entity's events. */
#ifndef SHERD_CMD_JOURNAL_PROGRAM_H
#define SHERD_CMD_JOURNAL_PROGRAM_H

#include "sherd-journal.h"

#include <sherd/inspect.h>

#include "actor/apply.h"

struct program;

/* Runs a command in a child process, so that code which crashes is reported with its event. `run` opens
 * the journal, and gets the program of --program. */
enum cmd_exit program_run(const struct cmd_call *call,
                          enum cmd_exit (*run)(const struct cmd_call *call, const struct program *program));
/* The row of an id's type; null: the program has none, or it is not persistent. */
const struct sherd_inspected *program_type(const struct program *program, struct slice id);

/* One entity's state, made of a snapshot and events. */
struct program_state {
    const struct program *program;
    const struct sherd_inspected *row;
    struct event_code code;
    struct slice id;
    uint64_t key;
    uint64_t seq;      /* of the last event that is in the state */
    uint64_t snapshot; /* number of the snapshot it began with; 0: none */
    struct fence fence; /* of that event */
    bool has_deliveries; /* the library has events or a part of the snapshot */
    char why[EVENT_FAULT_MAX + 40]; /* the last failure; else empty */
};

void program_begin(struct program_state *state, const struct program *program, const struct sherd_inspected *row,
                   struct slice id);
/* Applies a stored event. False: it is damaged, does not follow the last one, or is rejected. */
bool program_apply(struct program_state *state, uint64_t seq, struct slice bytes);
/* Loads a stored snapshot in place of the state. False: it is damaged, or refused; the state is empty. */
bool program_load(struct program_state *state, uint64_t seq, struct slice bytes);
/* Brings an empty state up to an event, with the newest usable snapshot of a held journal. False: `why` is set, or
 * the journal failed. */
bool program_replay(struct program_state *state, struct journal *journal, const struct journal_id *at, uint64_t to);
/* Write the image of the state, or its text. Null, or why they cannot. The caller frees the image. */
const char *program_save(const struct program_state *state, struct buf *image);
const char *program_describe(const struct program_state *state, struct buf *text);
void program_end(struct program_state *state);

/* Compares each snapshot of an entity with the state that its events make. False: the journal failed. `found`
 * gets what differs. */
bool program_compare(const struct program *program, struct journal *journal, const struct journal_id *at,
                     void (*found)(void *context, struct slice id, const char *why), void *context);

#endif
