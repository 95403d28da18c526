#include "sim/store_book.h"

#include "journal/book.h"

static void *open_book(const struct store_options *options,
                       enum store_mode mode, char *error)
{
    (void)mode; /* readers and writers are alike */
    (void)error;
    return book_new(options && options->cluster ? options->cluster : "");
}

static void write_book(void *store, struct store_request **requests,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        book_write(store, requests[i]);
    book_keep(store);
}

static void read_book(void *store, struct store_request **requests,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        book_read(store, requests[i]);
}

static void close_book(void *store)
{
    book_free(store);
}

const struct store_ops store_book = { "book",     open_book, write_book,
                                      NULL,       read_book, close_book };
