/* A store without a disk: one book (journal/book.h) that keeps everything, at once and for ever. For worlds in which nothing
 * goes wrong with the store. */
#ifndef SHERD_SIM_STORE_BOOK_H
#define SHERD_SIM_STORE_BOOK_H

#include "journal/store.h"

extern const struct store_ops store_book;

#endif
