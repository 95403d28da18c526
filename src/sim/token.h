/* Tokens: how the checker of messages recognizes a message wherever its bytes are.
 *
 * Every message of a workload has 16 bytes at the end of its body: a magic of 8 bytes and the message's number, little endian.
 * A token_pipe follows one connection: it splits the bytes that are written into frames as the receiver does, finds the tokens
 * in them however the bytes were cut, and says when a token has left its node and when it has come to the other. A frame counts
 * when its last byte has passed: of a frame that is written in part the writer keeps the whole, one that arrived in part is lost. */
#ifndef SHERD_SIM_TOKEN_H
#define SHERD_SIM_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

#define TOKEN_SIZE 16

void token_put(uint8_t bytes[TOKEN_SIZE], uint64_t number);
bool token_of(struct slice body, uint64_t *number); /* the one at the end of a body; false: none */
/* The tokens in any bytes, in order; start with *at = 0. False at the end. */
bool token_next(struct slice bytes, size_t *at, uint64_t *number);

/* A search that goes on over pieces. Zero is a fresh one. */
struct token_search {
    uint8_t matched; /* bytes of the token seen */
    uint64_t number;
};

struct token_passage {
    uint64_t number;
    uint64_t end; /* offset of the byte behind its frame */
};

/* One connection. Zero is a fresh one; offsets count from the preamble's first byte. */
struct token_pipe {
    uint64_t written;
    uint64_t arrived;
    uint64_t part_end;    /* where the preamble, the length or the frame ends that is being written */
    uint8_t part;         /* 0 preamble, 1 length, 2 frame */
    bool is_control;      /* no message of an actor goes over it: it is not looked at */
    uint32_t length;
    struct token_search search;
    VEC(struct token_passage) tokens; /* from head on: on their way, in order */
    uint32_t head;
    uint32_t left;  /* those before it have been told to have left */
    uint32_t whole; /* those before it are in frames that are written whole */
};

void token_pipe_fini(struct token_pipe *pipe);
/* Takes in bytes that were written. Then token_pipe_left gives the tokens whose frames are whole, in order. */
void token_pipe_written(struct token_pipe *pipe, struct slice bytes);
bool token_pipe_left(struct token_pipe *pipe, uint64_t *number);
/* That many bytes more have arrived. Then token_pipe_came gives the tokens whose frames are there, in order. */
void token_pipe_arrived(struct token_pipe *pipe, size_t size);
bool token_pipe_came(struct token_pipe *pipe, uint64_t *number);
/* The connection is over: gives the tokens of whole frames that never arrived. */
bool token_pipe_lost(struct token_pipe *pipe, uint64_t *number);

#endif
