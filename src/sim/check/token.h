/* Finds messages wherever their bytes are, by tokens: 16 bytes at the end of each body, a magic of
 * 8 and the message's number, little endian.
 *
 * A token_pipe follows one connection. It splits the written bytes into frames as the receiver
 * does, and reports when a token has left its node and has arrived at the other. A frame counts
 * when its last byte has passed. The writer keeps all of a frame that is written in part; one that
 * arrived in part is lost. */
#ifndef SHERD_SIM_CHECK_TOKEN_H
#define SHERD_SIM_CHECK_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

#define TOKEN_SIZE 16

void token_put(uint8_t bytes[TOKEN_SIZE], uint64_t number);
bool token_of(struct slice body, uint64_t *number); /* the one at the end of a body; false: none */
/* The tokens in any bytes, in order. Start with *at = 0. False at the end. */
bool token_next(struct slice bytes, size_t *at, uint64_t *number);

/* A search that continues over pieces. A zeroed struct is a new search. */
struct token_search {
    uint8_t matched; /* bytes of the token seen */
    uint64_t number;
};

struct token_passage {
    uint64_t number;
    uint64_t end; /* offset of the first byte after its frame */
};

/* The state of one followed connection. A zeroed struct is a new one. Offsets count the
 * connection's bytes, from the first byte of the preamble. */
struct token_pipe {
    uint64_t written;
    uint64_t arrived;
    uint64_t part_end;    /* end of the preamble, length or frame that is being written */
    uint8_t part;         /* 0 preamble, 1 length, 2 frame */
    bool is_control;      /* it carries no message of an actor and is not searched */
    uint32_t length;
    struct token_search search;
    VEC(struct token_passage) tokens; /* from head on: in flight, in order */
    uint32_t head;
    uint32_t left;  /* those before it were reported as left */
    uint32_t whole; /* those before it are in completely written frames */
};

void token_pipe_fini(struct token_pipe *pipe);
/* Takes written bytes; then token_pipe_left returns the tokens of complete frames, in order. */
void token_pipe_written(struct token_pipe *pipe, struct slice bytes);
bool token_pipe_left(struct token_pipe *pipe, uint64_t *number);
/* The next `size` bytes have arrived; then token_pipe_came returns the tokens of complete frames,
 * in order. */
void token_pipe_arrived(struct token_pipe *pipe, size_t size);
bool token_pipe_came(struct token_pipe *pipe, uint64_t *number);
/* After its end: the tokens of complete frames that never arrived. */
bool token_pipe_lost(struct token_pipe *pipe, uint64_t *number);

#endif
