/* Cases of sherd-conform on reading: bounds, counts, sizes, and ids with any bytes. */
#include "sherd-conform.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "journal/record.h"

/* Claims shard "s" and stores that many letters of entity "e". */
static bool fill(struct run *run, const char *events)
{
    return conform_claim(run, run->writer, "s", one) == BACKEND_DONE &&
           conform_put(run, run->writer, "s", one, "e", 1, events) ==
               BACKEND_DONE;
}

static void replay_all(struct run *run)
{
    MUST(run, fill(run, "abcde"));
    MUST(run, conform_has(run, "e", "abcde"));
}

static void replay_from(struct run *run)
{
    MUST(run, fill(run, "abcde"));
    MUST(run, conform_reads(run, 3, 100, CONFORM_ALL, 3, 3, false));
    MUST(run, conform_reads(run, 5, 100, CONFORM_ALL, 1, 5, false));
    MUST(run, conform_reads(run, 6, 100, CONFORM_ALL, 0, 0, false));
}

static void replay_count(struct run *run)
{
    MUST(run, fill(run, "abcde"));
    MUST(run, conform_reads(run, 1, 2, CONFORM_ALL, 2, 1, true));
    MUST(run, conform_reads(run, 1, 5, CONFORM_ALL, 5, 1, false));
    MUST(run, conform_reads(run, 4, 2, CONFORM_ALL, 2, 4, false));
    MUST(run, conform_reads(run, 3, 1, CONFORM_ALL, 1, 3, true));
}

static void replay_size(struct run *run)
{
    uint64_t from = 1;
    uint32_t chunks = 0;
    bool more = true;

    MUST(run, fill(run, "abcdefgh"));
    while (more && chunks < 100) {
        struct journal_request *request =
            conform_replay(run, run->reader, "e", from, 100, 1);

        MUST(run, request->result == BACKEND_DONE);
        MUST(run, request->records.count == 1);
        MUST(run, request->records.items[0].seq == from);
        more = request->more;
        from++;
        chunks++;
        journal_request_free(request);
    }
    MUST(run, chunks == 8);
}

/* The count bounds a range from above, as numbers have no gaps. */
static void replay_to(struct run *run)
{
    MUST(run, fill(run, "abcdefgh"));
    for (uint32_t to = 1; to <= 8; to++)
        MUST_TELL(run, conform_reads(run, 1, to, CONFORM_ALL, to, 1, to < 8),
                  "a REPLAY must end at its count, and tell whether more follows");
}

static void replay_from_to(struct run *run)
{
    MUST(run, fill(run, "abcdefgh"));
    for (uint64_t from = 1; from <= 9; from++)
        for (uint32_t count = 1; count <= 9; count++) {
            uint32_t left = (uint32_t)(9 - from);
            uint32_t found = count < left ? count : left;

            MUST_TELL(run, conform_reads(run, from, count, CONFORM_ALL, found, from, count < left),
                      "a REPLAY must have the events from its first number on, up to its count");
        }
}

static void replay_empty_range(struct run *run)
{
    MUST(run, fill(run, "abc"));
    MUST(run, conform_reads(run, 4, 1, CONFORM_ALL, 0, 0, false));
    MUST(run, conform_reads(run, 1000, 100, CONFORM_ALL, 0, 0, false));
    MUST(run, conform_reads(run, INT64_MAX, 100, CONFORM_ALL, 0, 0, false));
}

static void replay_one(struct run *run)
{
    MUST(run, fill(run, "a"));
    MUST(run, conform_reads(run, 1, 1, CONFORM_ALL, 1, 1, false));
    MUST(run, conform_has(run, "e", "a"));
}

static void replay_unknown(struct run *run)
{
    MUST(run, fill(run, "a"));
    MUST(run, conform_has(run, "nobody", ""));
}

static void replay_last_only(struct run *run)
{
    MUST(run, fill(run, "abcde"));
    MUST(run, conform_reads(run, BACKEND_LAST, 1, CONFORM_ALL, 1, 5, false));
}

static void replay_many(struct run *run)
{
    struct journal_request *requests[64];
    char id[16], text[400];
    bool same = true;

    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    for (int i = 0; i < 64; i++) {
        id[0] = (char)('A' + i);
        id[1] = 0;
        MUST(run, conform_put(run, run->writer, "s", one, id, 1, "abc") ==
                      BACKEND_DONE);
        conform_id(run, id, text);
        requests[i] = journal_request_replay(slice_text(text), 1, 100, 1 << 20);
    }
    run->ops->read(run->reader, requests, 64);
    for (int i = 0; i < 64; i++) {
        same = same && requests[i]->result == BACKEND_DONE &&
               requests[i]->records.count == 3;
        journal_request_free(requests[i]);
    }
    MUST(run, same);
}

static void all_byte_values(struct run *run)
{
    struct journal_request *request =
        conform_append(run, "s", one, "e", 1, "");
    struct record record;
    uint8_t bytes[256];
    char text[400];

    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    conform_add_record(request, 1, slice_of(bytes, sizeof bytes));
    conform_add_record(request, 2, slice_of("", 0));
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_write(run, run->writer, request) == BACKEND_DONE);
    request = conform_replay(run, run->reader, "e", 1, 10, 1 << 20);
    conform_id(run, "e", text);
    MUST(run, request->records.count == 2);
    MUST(run, !record_decode(backend_slice(request, request->records.items[0].bytes),
                             record_key(slice_text(text)), 1, &record));
    MUST(run, slice_equal(record.payload, slice_of(bytes, sizeof bytes)));
    MUST(run, !record_decode(backend_slice(request, request->records.items[1].bytes),
                             record_key(slice_text(text)), 2, &record));
    MUST(run, record.payload.size == 0);
    journal_request_free(request);
}

static void strange_ids(struct run *run)
{
    static const char *const ids[] = { "'", "\\", "%", "\"; DROP TABLE event; --",
                                       "\xff\xfe not UTF-8", "e|f", "$1", "\xc3\xa9" };

    MUST(run, conform_claim(run, run->writer, "'s\\", one) == BACKEND_DONE);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        MUST(run, conform_put(run, run->writer, "'s\\", one, ids[i], 1, "ab") ==
                      BACKEND_DONE);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        MUST(run, conform_has(run, ids[i], "ab"));
}

static void long_ids(struct run *run)
{
    char id[256];

    memset(id, 'i', 255);
    id[255] = 0;
    MUST(run, conform_claim(run, run->writer, id, one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, id, one, id, 1, "ab") == BACKEND_DONE);
    id[254] = 'j';
    MUST(run, conform_put(run, run->writer, id, one, id, 1, "c") != BACKEND_DONE ||
                  conform_has(run, id, "c"));
    id[254] = 'i';
    MUST(run, conform_has(run, id, "ab"));
}

static void record_of_1_mib(struct run *run)
{
    struct journal_request *request =
        conform_append(run, "s", one, "e", 1, "");
    uint8_t *bytes = mem_alloc(1 << 20);

    for (uint32_t i = 0; i < 1 << 20; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    conform_add_record(request, 1, slice_of(bytes, 1 << 20));
    conform_add_record(request, 2, slice_of(bytes, 1));
    mem_free(bytes);
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_write(run, run->writer, request) == BACKEND_DONE);
    MUST(run, conform_reads(run, 1, 10, 1000, 1, 1, true));
    MUST(run, conform_reads(run, 2, 10, 1000, 1, 2, false));
}

const struct conform_case conform_replays[] = {
    { "replay-all", replay_all },
    { "replay-from", replay_from },
    { "replay-to", replay_to },
    { "replay-from-to", replay_from_to },
    { "replay-empty-range", replay_empty_range },
    { "replay-count", replay_count },
    { "replay-size", replay_size },
    { "replay-one", replay_one },
    { "replay-unknown", replay_unknown },
    { "replay-last-only", replay_last_only },
    { "replay-many", replay_many },
    { "all-byte-values", all_byte_values },
    { "strange-ids", strange_ids },
    { "255-byte-ids", long_ids },
    { "1-MiB-record", record_of_1_mib },
    { NULL, NULL },
};
