/* Runs requests on one entity for the cases of sherd-conform: snapshots, deletions and ranges of events. */
#include "sherd-conform.h"

struct journal_request *conform_by_owner(struct run *run, enum backend_verb verb,
                                         struct fence fence)
{
    char text[400];

    conform_id(run, "e", text);
    return journal_request_owner(verb, slice_text(run->type), slice_text("s"), fence,
                                 slice_text(text));
}

struct journal_request *conform_save(struct run *run, struct fence fence, uint64_t seq,
                                     struct slice bytes, uint32_t keep)
{
    struct journal_request *request = conform_by_owner(run, BACKEND_SAVE, fence);
    struct backend_record record = { .seq = seq };

    record.bytes = backend_put(request, bytes);
    vec_push(&request->records, record);
    request->count_max = keep;
    return request;
}

enum backend_result conform_settle(struct run *run, struct journal_request *request)
{
    enum backend_result result;

    conform_do(run, run->writer, request);
    result = request->result;
    journal_request_free(request);
    return result;
}

struct journal_request *conform_load(struct run *run, uint64_t up_to)
{
    struct journal_request *request;
    char text[400];

    conform_id(run, "e", text);
    request = journal_request_load(slice_text(text), up_to);
    run->ops->read(run->reader, &request, 1);
    return request;
}

bool conform_loads(struct run *run, uint64_t up_to, uint64_t seq, struct slice bytes)
{
    struct journal_request *request = conform_load(run, up_to);
    bool same;

    same = request->result == BACKEND_DONE && request->records.count == (seq ? 1 : 0);
    if (same && seq)
        same = request->records.items[0].seq == seq &&
               slice_equal(backend_slice(request, request->records.items[0].bytes), bytes);
    journal_request_free(request);
    return same;
}

bool conform_trims(struct run *run, uint64_t from, uint32_t count, bool more, uint32_t deleted)
{
    struct journal_request *request = conform_by_owner(run, BACKEND_TRIM, one);
    bool same;

    request->from = from;
    request->count_max = count;
    conform_do(run, run->writer, request);
    same = request->result == BACKEND_DONE && request->more == more && request->deleted == deleted;
    journal_request_free(request);
    return same;
}

bool conform_reads(struct run *run, uint64_t from, uint32_t count_max, uint32_t size_max,
                   uint32_t count, uint64_t first, bool more)
{
    struct journal_request *request =
        conform_replay(run, run->reader, "e", from, count_max, size_max);
    bool same = request->result == BACKEND_DONE &&
                request->records.count == count && request->more == more;

    for (uint32_t i = 0; same && i < count; i++)
        same = request->records.items[i].seq == first + i;
    journal_request_free(request);
    return same;
}
