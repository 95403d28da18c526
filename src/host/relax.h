/* Pauses the processor between two checks of a polling loop. */
#ifndef SHERD_HOST_RELAX_H
#define SHERD_HOST_RELAX_H

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

#endif
