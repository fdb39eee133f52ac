/* What a function leaves on its stack: it runs in a thread whose stack is searched afterwards. To be included first. */
#ifndef TESTS_STACK_SEARCH_H
#define TESTS_STACK_SEARCH_H

#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 1 << 17 };

/* The stack, which the caller frees, after the function has run on it. */
static inline char *stack_after(void *(*function)(void *), void *argument) {
    char *stack = aligned_alloc(4096, STACK);
    if (stack == NULL)
        abort();
    memset(stack, 0, STACK);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, STACK) != 0 ||
        pthread_create(&thread, &attributes, function, argument) != 0)
        abort();
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return stack;
}

/* How many of the secrets, of so many bytes each, are somewhere on the stack. */
static inline size_t count_found(const char *stack, const void *secrets, size_t count, size_t width) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += memmem(stack, STACK, (const char *)secrets + width * i, width) != NULL;
    return found;
}

#endif
