/* Writes tokens, searches for them, and follows the frames of a connection
 * (docs/protocol/link.md). */
#include "sim/check/token.h"

enum { PREAMBLE, LENGTH, FRAME };
enum { CONTROL = 1 }; /* the preamble's last byte: the control stream */
enum { PREAMBLE_SIZE = 5, LENGTH_SIZE = 4, MAGIC_SIZE = 8 };

/* All bytes differ, so a failed search restarts at the byte that failed. */
static const uint8_t magic[MAGIC_SIZE] = { 0xf7, 's',  'h', 0x9c,
                                           'T',  0xe1, 'o', 'k' };

void token_put(uint8_t bytes[TOKEN_SIZE], uint64_t number)
{
    memcpy(bytes, magic, MAGIC_SIZE);
    for (int i = 0; i < 8; i++)
        bytes[MAGIC_SIZE + i] = (uint8_t)(number >> (8 * i));
}

static uint64_t number_at(const uint8_t *bytes)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

/* Searches until a token is complete, and moves *at behind the bytes read. */
static bool search(struct token_search *search, struct slice bytes, size_t *at)
{
    while (*at < bytes.size) {
        uint8_t byte;

        if (!search->matched) {
            const uint8_t *begin = memchr(bytes.data + *at, magic[0],
                                          bytes.size - *at);

            if (!begin) {
                *at = bytes.size;
                return false;
            }
            *at = (size_t)(begin - bytes.data) + 1;
            if (bytes.size - *at + 1 >= TOKEN_SIZE &&
                memcmp(begin, magic, MAGIC_SIZE) == 0) {
                *at += TOKEN_SIZE - 1;
                search->number = number_at(begin + MAGIC_SIZE);
                return true;
            }
            search->matched = 1;
            continue;
        }
        byte = bytes.data[(*at)++];
        if (search->matched < MAGIC_SIZE) {
            search->matched = byte == magic[search->matched]
                                  ? (uint8_t)(search->matched + 1)
                              : byte == magic[0] ? 1
                                                 : 0;
            search->number = 0;
            continue;
        }
        search->number |= (uint64_t)byte << (8 * (search->matched - MAGIC_SIZE));
        if (++search->matched == TOKEN_SIZE) {
            search->matched = 0;
            return true;
        }
    }
    return false;
}

bool token_next(struct slice bytes, size_t *at, uint64_t *number)
{
    struct token_search fresh = { 0 };

    if (!search(&fresh, bytes, at))
        return false;
    *number = fresh.number;
    return true;
}

bool token_of(struct slice body, uint64_t *number)
{
    size_t at = 0;

    if (body.size < TOKEN_SIZE)
        return false;
    body.data += body.size - TOKEN_SIZE;
    body.size = TOKEN_SIZE;
    return token_next(body, &at, number);
}

/* ---- a connection ---- */

void token_pipe_fini(struct token_pipe *pipe)
{
    vec_fini(&pipe->tokens);
    *pipe = (struct token_pipe){ 0 };
}

static void begin_part(struct token_pipe *pipe, uint8_t part, uint32_t size)
{
    pipe->part = part;
    pipe->part_end = pipe->written + size;
}

static void end_part(struct token_pipe *pipe)
{
    if (pipe->part == LENGTH) {
        begin_part(pipe, FRAME, pipe->length);
        pipe->search = (struct token_search){ 0 };
        if (pipe->length)
            return;
    }
    pipe->whole = pipe->tokens.count;
    pipe->length = 0;
    begin_part(pipe, LENGTH, LENGTH_SIZE);
}

static void find_tokens(struct token_pipe *pipe, struct slice bytes)
{
    struct token_passage passage = { .end = pipe->part_end };
    size_t at = 0;

    while (search(&pipe->search, bytes, &at)) {
        passage.number = pipe->search.number;
        vec_push(&pipe->tokens, passage);
    }
}

static void read_length(struct token_pipe *pipe, struct slice bytes)
{
    uint32_t left = (uint32_t)(pipe->part_end - pipe->written);

    for (size_t i = 0; i < bytes.size; i++)
        pipe->length |= (uint32_t)bytes.data[i]
                        << (8 * (LENGTH_SIZE - left + (uint32_t)i));
}

void token_pipe_written(struct token_pipe *pipe, struct slice bytes)
{
    if (!pipe->part_end)
        begin_part(pipe, PREAMBLE, PREAMBLE_SIZE);
    while (bytes.size && !pipe->is_control) {
        struct slice part = bytes;

        if (part.size > pipe->part_end - pipe->written)
            part.size = (size_t)(pipe->part_end - pipe->written);
        if (pipe->part == PREAMBLE)
            pipe->is_control =
                part.size == pipe->part_end - pipe->written &&
                part.data[part.size - 1] == CONTROL;
        else if (pipe->part == LENGTH)
            read_length(pipe, part);
        else if (pipe->part == FRAME)
            find_tokens(pipe, part);
        pipe->written += part.size;
        bytes.data += part.size;
        bytes.size -= part.size;
        if (pipe->written == pipe->part_end)
            end_part(pipe);
    }
}

static void compact(struct token_pipe *pipe)
{
    if (pipe->head < 64 || pipe->head < pipe->tokens.count / 2)
        return;
    pipe->tokens.count -= pipe->head;
    memmove(pipe->tokens.items, pipe->tokens.items + pipe->head,
            pipe->tokens.count * sizeof *pipe->tokens.items);
    pipe->whole -= pipe->head;
    pipe->left -= pipe->head;
    pipe->head = 0;
}

bool token_pipe_left(struct token_pipe *pipe, uint64_t *number)
{
    if (pipe->left >= pipe->whole)
        return false;
    *number = pipe->tokens.items[pipe->left++].number;
    return true;
}

void token_pipe_arrived(struct token_pipe *pipe, size_t size)
{
    pipe->arrived += size;
}

bool token_pipe_came(struct token_pipe *pipe, uint64_t *number)
{
    if (pipe->head >= pipe->left ||
        pipe->tokens.items[pipe->head].end > pipe->arrived) {
        compact(pipe);
        return false;
    }
    *number = pipe->tokens.items[pipe->head++].number;
    return true;
}

bool token_pipe_lost(struct token_pipe *pipe, uint64_t *number)
{
    if (pipe->head >= pipe->left)
        return false;
    *number = pipe->tokens.items[pipe->head++].number;
    return true;
}
