/* A getrandom of the tests' own, loaded before the C library's: it fails, is interrupted and gives few bytes when told to. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Python sets these. The calls counted are those since stub_calls was last set to 0, interruptions left out. */
int stub_active;        /* 0: pass everything on to the system */
int stub_good_calls;    /* calls before all fail; negative: none fails */
int stub_error;         /* errno of the failure; 0: give no byte and no error */
int stub_interruptions; /* times that each call is interrupted before it works */
size_t stub_most;       /* bytes that one call gives at most */
int stub_zero_calls;    /* calls that give zeros before the stream begins */
atomic_int stub_calls;
atomic_int stub_interrupted;
size_t stub_position;  /* bytes of the stream given so far */
size_t stub_asked[64]; /* sizes asked for by the first calls */

static unsigned char stream_byte(size_t position) { /* byte of SplitMix64's word */
    uint64_t z = (position / 8 + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned char)((z ^ z >> 31) >> position % 8 * 8);
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    if (!stub_active)
        return syscall(SYS_getrandom, buffer, size, flags);
    if (atomic_load(&stub_interrupted) < stub_interruptions) {
        atomic_fetch_add(&stub_interrupted, 1);
        errno = EINTR;
        return -1;
    }
    atomic_store(&stub_interrupted, 0);
    int call = atomic_fetch_add(&stub_calls, 1);
    if (call < 64)
        stub_asked[call] = size;
    if (stub_good_calls >= 0 && call >= stub_good_calls) {
        errno = stub_error;
        return stub_error ? -1 : 0;
    }
    size = size < stub_most ? size : stub_most;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)buffer)[i] = call < stub_zero_calls ? 0 : stream_byte(stub_position++);
    return (ssize_t)size;
}
