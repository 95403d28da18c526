/* Defines the proof that two nodes use one journal: a term and the random number that the journal
 * stored with it. */
#ifndef SHERD_BASE_PROOF_H
#define SHERD_BASE_PROOF_H

#include <stdint.h>

struct proof {
    uint64_t term;
    uint64_t value; /* 0: no proof */
};

#endif
