/* Names lease providers, and makes and copies requests to them. */
#include <string.h>

#include "base/check.h"
#include "lease/request.h"

static const char *const texts[LEASE_PROVIDER_COUNT] = {
#define X(id, text) text,
    LEASE_PROVIDERS(X)
#undef X
};

static size_t size_of(uint32_t count)
{
    return sizeof(struct lease_request) + count * sizeof(struct lease_bound);
}

struct lease_request *lease_request_new(uint32_t count)
{
    struct lease_request *request = mem_alloc(size_of(count));

    request->count = count;
    return request;
}

struct lease_request *lease_request_copy(const struct lease_request *request)
{
    return mem_copy(request, size_of(request->count));
}

void lease_request_set(struct lease_request *request, const struct lease_request *from)
{
    check(request->count == from->count);
    memcpy(request, from, size_of(from->count));
}

void lease_request_answer_all(struct lease_request *request, enum lease_answer answer)
{
    request->answer = answer;
    for (uint32_t i = 0; i < request->count; i++)
        request->bound[i].answer = answer;
}

const char *lease_provider_text(enum lease_provider_kind provider)
{
    return texts[provider];
}

bool lease_provider_parse(const char *text, enum lease_provider_kind *provider)
{
    for (int i = 0; i < LEASE_PROVIDER_COUNT; i++) {
        if (strcmp(text ? text : "", texts[i]) != 0)
            continue;
        *provider = (enum lease_provider_kind)i;
        return true;
    }
    return false;
}
