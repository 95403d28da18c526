/* Keeps streams of records, snapshots, fences and terms in maps, and lists changes. */
#include "journal/book.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/map.h"

/* The records of one persistence id; record n has sequence number n + 1 + freed. */
struct stream {
    VEC(struct slice) records; /* own copies */
    struct slice id;
    uint64_t freed; /* records that no longer exist */
    uint64_t cut;   /* records that were deleted; those not yet freed may come back */
};

/* The fence of a shard, or the term of a type. */
struct mark {
    struct fence fence;
    struct slice type;
    struct slice shard;
    VEC(struct proof) proofs; /* of a type's terms, oldest first */
};

struct book {
    char *cluster;
    struct map streams; /* persistence id -> struct stream, never empty */
    struct map fences;  /* type and shard -> struct mark */
    struct map terms;   /* type -> struct mark */
    struct images images;
    VEC(struct book_change) changes;
};

static struct slice copy(struct slice bytes)
{
    return slice_of(mem_copy(bytes.data, bytes.size), bytes.size);
}

static void free_copy(struct slice bytes)
{
    mem_free((void *)(uintptr_t)bytes.data);
}

struct book *book_new(const char *cluster)
{
    struct book *book = mem_alloc(sizeof *book);

    book->cluster = mem_text(cluster);
    return book;
}

static void free_stream(struct stream *stream)
{
    for (uint32_t i = 0; i < stream->records.count; i++)
        free_copy(stream->records.items[i]);
    vec_fini(&stream->records);
    free_copy(stream->id);
    mem_free(stream);
}

static void free_mark(struct mark *mark)
{
    free_copy(mark->type);
    free_copy(mark->shard);
    vec_fini(&mark->proofs);
    mem_free(mark);
}

static void free_marks(struct map *marks)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(marks, &at, &entry);)
        free_mark(entry.value);
    map_fini(marks);
}

void book_free(struct book *book)
{
    struct map_entry entry;

    if (!book)
        return;
    for (uint32_t at = 0; map_next(&book->streams, &at, &entry);)
        free_stream(entry.value);
    map_fini(&book->streams);
    free_marks(&book->fences);
    free_marks(&book->terms);
    for (uint32_t i = 0; i < book->changes.count; i++)
        free_copy(book->changes.items[i].former);
    vec_fini(&book->changes);
    images_fini(&book->images);
    mem_free(book->cluster);
    mem_free(book);
}

const char *book_cluster(const struct book *book)
{
    return book->cluster;
}

/* ---- queries ---- */

static uint64_t last_of(const struct stream *stream)
{
    return stream->freed + stream->records.count;
}

/* Returns a shard's key, in buf. */
static struct slice shard_key(struct buf *buf, struct slice type,
                              struct slice shard)
{
    buf_put_u32(buf, (uint32_t)type.size);
    buf_put_slice(buf, type);
    buf_put_slice(buf, shard);
    return buf_slice(buf);
}

struct fence book_fence(const struct book *book, struct slice type,
                        struct slice shard)
{
    struct buf key = { 0 };
    const struct mark *mark =
        map_get(&book->fences, shard_key(&key, type, shard));

    buf_fini(&key);
    return mark ? mark->fence : (struct fence){ 0 };
}

uint64_t book_term(const struct book *book, struct slice type)
{
    const struct mark *mark = map_get(&book->terms, type);

    return mark ? mark->fence.term : 0;
}

/* Deleted proofs stay in the list until they are many. */
static uint32_t first_proof(const struct mark *mark)
{
    return mark->proofs.count > BACKEND_PROOFS_MAX
               ? mark->proofs.count - BACKEND_PROOFS_MAX
               : 0;
}

static struct backend_proofs proofs_of(const struct book *book,
                                     struct slice type, uint64_t term)
{
    const struct mark *mark = map_get(&book->terms, type);
    struct backend_proofs found = { 0 };

    if (!mark)
        return found;
    found.last = mark->fence.term;
    for (uint32_t i = first_proof(mark); i < mark->proofs.count; i++) {
        const struct proof *proof = &mark->proofs.items[i];

        if (!found.lowest)
            found.lowest = proof->term;
        if (proof->term == term)
            found.value = proof->value;
    }
    return found;
}

uint64_t book_proof(const struct book *book, struct slice type, uint64_t term)
{
    return proofs_of(book, type, term).value;
}

bool book_next(const struct book *book, uint32_t *at, struct slice *id,
               uint64_t *last)
{
    struct map_entry entry;
    const struct stream *stream;

    if (!map_next(&book->streams, at, &entry))
        return false;
    stream = entry.value;
    *id = stream->id;
    *last = last_of(stream);
    return true;
}

uint64_t book_last(const struct book *book, struct slice id)
{
    const struct stream *stream = map_get(&book->streams, id);

    return stream ? last_of(stream) : 0;
}

uint64_t book_first(const struct book *book, struct slice id)
{
    const struct stream *stream = map_get(&book->streams, id);

    return stream ? stream->cut + 1 : 0;
}

bool book_image(const struct book *book, struct slice id, uint64_t up_to, struct image *image)
{
    return images_newest(&book->images, id, up_to, image);
}

struct slice book_record(const struct book *book, struct slice id,
                         uint64_t seq)
{
    const struct stream *stream = map_get(&book->streams, id);

    if (!stream || seq <= stream->cut || seq > last_of(stream))
        return (struct slice){ 0 };
    return stream->records.items[seq - 1 - stream->freed];
}

/* ---- changes ---- */

uint32_t book_change_count(const struct book *book)
{
    return book->changes.count;
}

const struct book_change *book_change(const struct book *book, uint32_t index)
{
    check(index < book->changes.count);
    return &book->changes.items[index];
}

static void free_deleted(struct stream *stream)
{
    uint32_t count = (uint32_t)(stream->cut - stream->freed);

    for (uint32_t i = 0; i < count; i++)
        free_copy(stream->records.items[i]);
    stream->records.count -= count;
    memmove(stream->records.items, stream->records.items + count,
            stream->records.count * sizeof *stream->records.items);
    stream->freed = stream->cut;
}

static void drop_old_proofs(struct mark *mark)
{
    uint32_t old = first_proof(mark);

    if (old < BACKEND_PROOFS_MAX)
        return;
    mark->proofs.count -= old;
    memmove(mark->proofs.items, mark->proofs.items + old,
            mark->proofs.count * sizeof *mark->proofs.items);
}

void book_keep(struct book *book)
{
    for (uint32_t i = 0; i < book->changes.count; i++) {
        if (book->changes.items[i].kind == BOOK_CUT)
            free_deleted(map_get(&book->streams, book->changes.items[i].id));
        else if (book->changes.items[i].kind == BOOK_TERM)
            drop_old_proofs(map_get(&book->terms, book->changes.items[i].id));
        free_copy(book->changes.items[i].former);
    }
    book->changes.count = 0;
}

static void add_record(struct book *book, struct slice id, uint64_t seq,
                       struct slice bytes)
{
    struct stream *stream = map_get(&book->streams, id);
    struct book_change change = { .kind = BOOK_RECORD, .seq = seq };

    if (!stream) {
        stream = mem_alloc(sizeof *stream);
        stream->id = copy(id);
        (void)map_put(&book->streams, id, stream); /* was absent */
    }
    check(seq == last_of(stream) + 1);
    change.id = stream->id;
    change.bytes = copy(bytes);
    vec_push(&stream->records, change.bytes);
    vec_push(&book->changes, change);
}

static void cut_stream(struct book *book, struct slice id, uint64_t first)
{
    struct stream *stream = map_get(&book->streams, id);

    check(first > stream->cut + 1);
    check(first <= last_of(stream));
    vec_push(&book->changes,
             ((struct book_change){ .kind = BOOK_CUT,
                                    .id = stream->id,
                                    .seq = first,
                                    .first = stream->cut + 1 }));
    stream->cut = first - 1;
}

static void put_image(struct book *book, struct slice id, uint64_t seq, struct slice bytes)
{
    struct book_change change = { .kind = BOOK_IMAGE, .id = id, .seq = seq };

    change.bytes = copy(bytes);
    change.former = images_put(&book->images, &change.id, seq, change.bytes);
    vec_push(&book->changes, change);
}

static void take_image(struct book *book, struct slice id, uint64_t seq)
{
    struct book_change change = { .kind = BOOK_IMAGE_GONE, .id = id, .seq = seq };

    change.former = images_take(&book->images, id, seq);
    vec_push(&book->changes, change);
}

static void undo_image(struct book *book, struct book_change *change)
{
    if (change->kind == BOOK_IMAGE)
        free_copy(images_take(&book->images, change->id, change->seq));
    if (change->former.data)
        (void)images_put(&book->images, &change->id, change->seq, change->former); /* was absent */
}

static struct mark *mark_of(struct map *marks, struct slice key,
                            struct slice type, struct slice shard)
{
    struct mark *mark = map_get(marks, key);

    if (!mark) {
        mark = mem_alloc(sizeof *mark);
        mark->type = copy(type);
        mark->shard = copy(shard);
        (void)map_put(marks, key, mark); /* was absent */
    }
    return mark;
}

static void set_fence(struct book *book, struct slice type, struct slice shard,
                      struct fence fence)
{
    struct buf key = { 0 };
    struct mark *mark = mark_of(&book->fences, shard_key(&key, type, shard),
                                type, shard);

    vec_push(&book->changes,
             ((struct book_change){ .kind = BOOK_FENCE,
                                    .id = mark->type,
                                    .shard = mark->shard,
                                    .fence = fence,
                                    .before = mark->fence }));
    mark->fence = fence;
    buf_fini(&key);
}

static void set_term(struct book *book, struct slice type, uint64_t term,
                     uint64_t proof)
{
    struct mark *mark =
        mark_of(&book->terms, type, type, (struct slice){ 0 });

    vec_push(&book->changes, ((struct book_change){ .kind = BOOK_TERM,
                                                    .id = mark->type,
                                                    .fence = { term, 0 },
                                                    .proof = proof,
                                                    .before = mark->fence }));
    mark->fence.term = term;
    if (proof)
        vec_push(&mark->proofs, ((struct proof){ term, proof }));
}

/* Restores a mark, or removes one that was new. */
static void undo_mark(struct map *marks, struct slice key,
                      struct fence before)
{
    struct mark *mark = map_get(marks, key);

    check(mark != NULL);
    if (mark->proofs.count &&
        mark->proofs.items[mark->proofs.count - 1].term == mark->fence.term)
        mark->proofs.count--;
    mark->fence = before;
    if (fence_is_none(before)) {
        (void)map_take(marks, key);
        free_mark(mark);
    }
}

static void undo_record(struct book *book, struct slice id)
{
    struct stream *stream = map_get(&book->streams, id);

    check(stream && stream->records.count > 0);
    free_copy(stream->records.items[--stream->records.count]);
    if (stream->records.count == 0) {
        (void)map_take(&book->streams, id);
        free_stream(stream);
    }
}

void book_undo(struct book *book)
{
    while (book->changes.count > 0) {
        struct book_change change =
            book->changes.items[--book->changes.count];
        struct buf key = { 0 };

        switch (change.kind) {
        case BOOK_RECORD:
            undo_record(book, change.id);
            break;
        case BOOK_FENCE:
            undo_mark(&book->fences,
                      shard_key(&key, change.id, change.shard),
                      change.before);
            break;
        case BOOK_TERM:
            undo_mark(&book->terms, change.id, change.before);
            break;
        case BOOK_CUT:
            ((struct stream *)map_get(&book->streams, change.id))->cut =
                change.first - 1;
            break;
        case BOOK_IMAGE:
        case BOOK_IMAGE_GONE:
            undo_image(book, &change);
            break;
        }
        buf_fini(&key);
    }
}

bool book_apply(struct book *book, const struct book_change *change)
{
    struct image image;

    switch (change->kind) {
    case BOOK_RECORD:
        if (change->seq != book_last(book, change->id) + 1)
            return false;
        add_record(book, change->id, change->seq, change->bytes);
        return true;
    case BOOK_FENCE:
        if (fence_compare(book_fence(book, change->id, change->shard),
                          change->fence) >= 0)
            return false;
        set_fence(book, change->id, change->shard, change->fence);
        return true;
    case BOOK_TERM:
        if (book_term(book, change->id) >= change->fence.term)
            return false;
        set_term(book, change->id, change->fence.term, change->proof);
        return true;
    case BOOK_CUT:
        if (change->seq <= book_first(book, change->id) ||
            change->seq > book_last(book, change->id))
            return false;
        cut_stream(book, change->id, change->seq);
        return true;
    case BOOK_IMAGE:
        put_image(book, change->id, change->seq, change->bytes);
        return true;
    case BOOK_IMAGE_GONE:
        if (!images_newest(&book->images, change->id, change->seq, &image) ||
            image.seq != change->seq)
            return false;
        take_image(book, change->id, change->seq);
        return true;
    }
    return false;
}

/* ---- requests ---- */

static void judge_shards(const struct book *book,
                         struct journal_request *request)
{
    for (uint32_t i = 0; i < request->shards.count; i++) {
        struct backend_shard *shard = &request->shards.items[i];

        shard->stored = book_fence(book, backend_slice(request, shard->type),
                                   backend_slice(request, shard->shard));
        shard->result = fence_compare(shard->stored, shard->fence) > 0
                            ? BACKEND_FENCED
                            : BACKEND_DONE;
    }
}

static void judge_record(const struct book *book,
                         const struct journal_request *request,
                         const struct backend_record *record,
                         struct backend_found *found)
{
    const struct backend_entity *entity =
        &request->entities.items[record->entity];
    struct slice id = backend_slice(request, entity->id);
    bool fenced =
        request->shards.items[entity->shard].result == BACKEND_FENCED;

    if (fenced && !request->again)
        return; /* the fence alone refuses it */
    if (!found->met) {
        found->met = true;
        found->before = found->last = book_last(book, id);
    }
    if (record->seq == found->last + 1) {
        found->last++;
        found->adds = true;
    } else if (found->adds || !request->again || record->seq == 0 ||
               record->seq > found->last ||
               !slice_equal(book_record(book, id, record->seq),
                            backend_slice(request, record->bytes))) {
        found->conflict = true;
    }
}

static void append(struct book *book, struct journal_request *request)
{
    struct backend_found *found =
        mem_alloc(request->entities.count * sizeof *found);

    judge_shards(book, request);
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *record = &request->records.items[i];

        judge_record(book, request, record, &found[record->entity]);
    }
    for (uint32_t i = 0; i < request->entities.count; i++) {
        struct backend_entity *entity = &request->entities.items[i];

        entity->result = backend_decide(request, entity, &found[i]);
    }
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *record = &request->records.items[i];
        const struct backend_entity *entity =
            &request->entities.items[record->entity];

        if (entity->result == BACKEND_DONE &&
            record->seq > found[record->entity].before)
            add_record(book, backend_slice(request, entity->id), record->seq,
                       backend_slice(request, record->bytes));
    }
    for (uint32_t i = 0; i < request->entities.count; i++) {
        const struct backend_entity *entity = &request->entities.items[i];
        struct slice id = backend_slice(request, entity->id);
        uint64_t cut = backend_cut(request, entity, book_first(book, id));

        if (found[i].met && cut)
            cut_stream(book, id, cut);
    }
    request->result = BACKEND_DONE;
    mem_free(found);
}

static void claim(struct book *book, struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);
    struct slice shard = backend_slice(request, request->shard);
    struct fence stored = book_fence(book, type, shard);
    struct backend_proofs proofs =
        proofs_of(book, type, request->proof.term);
    int order;

    request->result = backend_prove(request->proof, &proofs);
    if (request->result == BACKEND_FENCED)
        request->fence = (struct fence){ proofs.lowest, 0 };
    if (request->result != BACKEND_DONE)
        return;
    if (request->next)
        request->fence = (struct fence){ stored.term, stored.epoch + 1 };
    order = fence_compare(stored, request->fence);
    request->result = order > 0 ? BACKEND_FENCED : BACKEND_DONE;
    if (order > 0)
        request->fence = stored;
    else if (order < 0)
        set_fence(book, type, shard, request->fence);
}

/* Splits a key that shard_key made; false if it is of another type. */
static bool fence_key_is_of(struct slice key, struct slice type,
                            struct slice *shard)
{
    struct cursor cursor = cursor_of(key);

    if (!slice_equal(cursor_slice(&cursor, cursor_u32(&cursor)), type))
        return false;
    *shard = cursor_slice(&cursor, cursor_left(&cursor));
    return true;
}

static void list_shards(const struct book *book, struct journal_request *request)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&book->fences, &at, &entry);) {
        struct backend_shard listed = { .type = request->type };
        struct slice name;

        if (!fence_key_is_of(entry.key, backend_slice(request, request->type),
                             &name))
            continue;
        listed.shard = backend_put(request, name);
        vec_push(&request->shards, listed);
    }
}

static void take_term(struct book *book, struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);
    struct backend_proofs proofs =
        proofs_of(book, type, request->proof.term);
    uint64_t term = proofs.last;

    request->result = backend_prove(request->proof, &proofs);
    if (request->result == BACKEND_OTHER_STORE)
        return;
    if (term < request->fence.term)
        term = request->fence.term;
    request->fence.term = term + 1;
    request->result = BACKEND_DONE;
    if (request->lists)
        list_shards(book, request);
    set_term(book, backend_slice(request, request->type), term + 1,
             request->next_proof);
}

/* Judges a request of a shard's owner; true: it may go on. */
static bool is_owner(const struct book *book, struct journal_request *request)
{
    struct fence stored = book_fence(book, backend_slice(request, request->type),
                                     backend_slice(request, request->shard));
    bool fenced = fence_compare(stored, request->fence) > 0;

    request->result = fenced ? BACKEND_FENCED : BACKEND_DONE;
    if (fenced)
        request->fence = stored;
    return !fenced;
}

static void save(struct book *book, struct journal_request *request)
{
    const struct backend_record *snapshot = request->records.items;
    struct slice id = backend_slice(request, request->id);
    struct image oldest;

    if (!is_owner(book, request))
        return;
    if (!snapshot->seq || snapshot->seq > book_last(book, id)) {
        request->result = BACKEND_CONFLICT;
        return;
    }
    put_image(book, id, snapshot->seq, backend_slice(request, snapshot->bytes));
    while (images_at(&book->images, id, 0, &oldest) &&
           images_count(&book->images, id) > request->count_max)
        take_image(book, id, oldest.seq);
    request->from = images_count(&book->images, id) < request->count_max ? 0 : oldest.seq;
}

static void trim(struct book *book, struct journal_request *request)
{
    struct slice id = backend_slice(request, request->id);
    uint64_t first = book_first(book, id);
    uint64_t last = book_last(book, id);
    uint64_t below = request->from < last ? request->from : last;

    if (!is_owner(book, request) || below <= first)
        return;
    request->more = below - first > request->count_max;
    if (request->more)
        below = first + request->count_max;
    request->deleted = (uint32_t)(below - first);
    cut_stream(book, id, below);
}

static void drop(struct book *book, struct journal_request *request)
{
    struct slice id = backend_slice(request, request->id);
    struct image newest;

    if (!is_owner(book, request))
        return;
    while (images_newest(&book->images, id, UINT64_MAX, &newest) && newest.seq >= request->from)
        take_image(book, id, newest.seq);
}

void book_write(struct book *book, struct journal_request *request)
{
    switch (request->verb) {
    case BACKEND_APPEND:
        append(book, request);
        return;
    case BACKEND_CLAIM:
        claim(book, request);
        return;
    case BACKEND_TAKE_TERM:
        take_term(book, request);
        return;
    case BACKEND_SAVE:
        save(book, request);
        return;
    case BACKEND_TRIM:
        trim(book, request);
        return;
    case BACKEND_DROP:
        drop(book, request);
        return;
    case BACKEND_REPLAY:
    case BACKEND_LOAD:
        break;
    }
    backend_settle(request, BACKEND_FAILED, "not a write");
}

static uint64_t first_wanted(const struct stream *stream,
                             const struct journal_request *request)
{
    if (request->from == BACKEND_LAST)
        return last_of(stream);
    return request->from > stream->cut ? request->from : stream->cut + 1;
}

static void load(const struct book *book, struct journal_request *request)
{
    struct image image;

    request->result = BACKEND_DONE;
    if (images_newest(&book->images, backend_slice(request, request->id), request->from, &image))
        vec_push(&request->records,
                 ((struct backend_record){ .seq = image.seq,
                                           .bytes = backend_put(request, image.bytes) }));
}

void book_read(const struct book *book, struct journal_request *request)
{
    const struct stream *stream;
    size_t size = 0;

    if (request->verb == BACKEND_LOAD) {
        load(book, request);
        return;
    }
    if (request->verb != BACKEND_REPLAY) {
        backend_settle(request, BACKEND_FAILED, "not a read");
        return;
    }
    stream = map_get(&book->streams, backend_slice(request, request->id));
    request->result = BACKEND_DONE;
    if (!stream)
        return;
    for (uint64_t seq = first_wanted(stream, request); seq <= last_of(stream);
         seq++) {
        struct slice record = stream->records.items[seq - 1 - stream->freed];

        size += record.size;
        if (request->records.count &&
            (request->records.count >= request->count_max ||
             size > request->size_max)) {
            request->more = true;
            return;
        }
        vec_push(&request->records,
                 ((struct backend_record){
                     .seq = seq, .bytes = backend_put(request, record) }));
    }
}
