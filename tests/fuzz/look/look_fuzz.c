/* Fuzzes the frames and rows of looks. An accepted frame is the same after it is written and read
 * again, and a look that gets any answers ends at its deadline with bounded memory. */
#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "look/gather.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES 3

static void request(struct slice payload)
{
    struct look_request first, second;
    enum look_error error, again;
    struct buf buf = { 0 }, copy = { 0 };

    if (!look_request_read(payload, &first, &error) || error)
        return;
    look_request_put(&buf, &first);
    check(look_request_read(buf_slice(&buf), &second, &again) && !again);
    look_request_put(&copy, &second);
    check(slice_equal(buf_slice(&buf), buf_slice(&copy)));
    buf_fini(&buf);
    buf_fini(&copy);
}

static void reply(struct slice payload)
{
    struct look_reply first, second;
    struct buf buf = { 0 }, copy = { 0 };

    if (!look_reply_read(payload, &first))
        return;
    look_reply_put(&buf, &first);
    check(look_reply_read(buf_slice(&buf), &second));
    look_reply_put(&copy, &second);
    check(slice_equal(buf_slice(&buf), buf_slice(&copy)));
    buf_fini(&buf);
    buf_fini(&copy);
}

static void rows(enum sherd_look_kind kind, struct slice part)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX], again[SHERD_LOOK_COLUMNS_MAX];
    struct cursor cursor = cursor_of(part);
    struct slice row;

    while (look_row_next(&cursor, &row)) {
        struct look_rows copy = { .count = 0 };
        struct cursor copied;

        if (!look_row_read(kind, row, values))
            return;
        look_row_begin(&copy);
        look_put_values(&copy, kind, values);
        look_row_end(&copy);
        copied = cursor_of(buf_slice(&copy.bytes));
        check(look_row_next(&copied, &row) && look_row_read(kind, row, again));
        look_rows_fini(&copy);
    }
}

/* Each answer: a byte that names the node, two for its size, the frame. */
static void look(enum sherd_look_kind kind, uint32_t order, struct cursor input)
{
    struct gather_options options = { .kind = kind, .order = order, .count = 20, .deadline = SECOND };
    struct gather *gather = gather_new(&options);
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    struct look_request asked;
    struct sherd_look_page page;
    struct node_id node = { .uid = 0 };
    uint64_t now = 0, id = 0;

    check(address_set(&node.address, "h", 1, 1));
    for (node.uid = 1; node.uid <= NODES; node.uid++)
        gather_add(gather, &node, LOOK_ASKED);
    gather_begin(gather, now);
    while (!gather_is_done(gather)) {
        struct look_reply answer;
        uint32_t from = cursor_u8(&input);
        struct slice frame = cursor_slice(&input, cursor_u16(&input));
        struct node_id to;

        while (gather_next_ask(gather, now, id + 1, &to, &asked))
            id++;
        node.uid = 1 + from % NODES;
        if (input.failed)
            now = gather_deadline(gather);
        else if (look_reply_read(frame, &answer))
            (void)gather_reply(gather, now, &node, &answer);
        gather_tick(gather, now);
        check(gather_bytes(gather) <= LOOK_PAGE_BYTES_MAX + LOOK_PART_BYTES_MAX * NODES);
    }
    check(now <= SECOND && !gather_asked(gather));
    gather_page(gather, &page);
    for (uint32_t i = 0; i < page.row_count; i++)
        check(sherd_look_row(&page, i, values, NULL));
    check(page.next.size <= SHERD_LOOK_CURSOR_MAX);
    gather_free(gather);
}

/* The first byte: what it is; the second: the kind of the look. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum sherd_look_kind kind;
    struct slice rest;

    if (size < 2)
        return 0;
    kind = (enum sherd_look_kind)(data[1] % SHERD_LOOK_KIND_COUNT);
    rest = slice_of(data + 2, size - 2);
    switch (data[0] % 4) {
    case 0:
        request(rest);
        break;
    case 1:
        reply(rest);
        break;
    case 2:
        rows(kind, rest);
        break;
    default:
        look(kind, look_kind_order(kind), cursor_of(rest));
        break;
    }
    return 0;
}
