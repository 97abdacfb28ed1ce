/* Preloaded, it counts a process's operations that change files, and lets the n-th one fail; or
 * those that read files below the folder in which it was armed.
 *
 * arm(n, mode): 0 counts only; 1 kills the process in place of the n-th operation; 2 lets that one
 * fail for want of space; 3 lets it and all after it fail. 4 counts reads only; 5 lets the n-th read
 * fail as a disk's; 6 lets it and all after it fail. 7 is as 3, but that a quota is used up.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long done;
static long nth = -1;
static int mode, armed;
static char here[4096];

void arm(long n, int how) {
    done = 0; nth = n; mode = how;
    if (!getcwd(here, sizeof here)) here[0] = 0;
    armed = 1;
}
long counted(void) { armed = 0; return done; }

static int fails(void) {
    if (!armed || (mode > 3 && mode != 7)) return 0;
    long now = ++done;
    if (mode == 1 && now == nth) kill(getpid(), SIGKILL);
    return (mode == 2 && now == nth) || ((mode == 3 || mode == 7) && now >= nth);
}

static int is_file(int fd) {
    struct stat found;
    return armed && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}

/* Whether a read of a file of the folder fails. */
static int read_fails(int fd) {
    char link[64], path[4096];
    if (mode < 4 || mode == 7 || !is_file(fd)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, here, strlen(here))) return 0;
    long now = ++done;
    return (mode == 5 && now == nth) || (mode == 6 && now >= nth);
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL(result) do { errno = mode == 7 ? EDQUOT : ENOSPC; return (result); } while (0)
#define OPENS(name, parameters, arguments)                          \
    int name parameters {                                           \
        REAL(name);                                                 \
        mode_t access = 0;                                          \
        if (flags & (O_CREAT | O_TMPFILE)) {                        \
            va_list more;                                           \
            va_start(more, flags);                                  \
            access = va_arg(more, mode_t);                          \
            va_end(more);                                           \
        }                                                           \
        if ((flags & O_CREAT) && fails()) FAIL(-1);                 \
        return real arguments;                                      \
    }
#define CHANGES(name, parameters, arguments) \
    int name parameters { REAL(name); if (fails()) FAIL(-1); return real arguments; }
#define WRITES(type, name, parameters, arguments) \
    type name parameters { REAL(name); if (is_file(fd) && fails()) FAIL(-1); return real arguments; }

#define READS(type, name, parameters, arguments) \
    type name parameters { \
        REAL(name); \
        if (read_fails(fd)) { errno = EIO; return -1; } \
        return real arguments; \
    }

READS(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
READS(ssize_t, pread, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
READS(ssize_t, pread64, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
READS(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
OPENS(open, (const char *path, int flags, ...), (path, flags, access))
OPENS(open64, (const char *path, int flags, ...), (path, flags, access))
OPENS(openat, (int at, const char *path, int flags, ...), (at, path, flags, access))
OPENS(openat64, (int at, const char *path, int flags, ...), (at, path, flags, access))
CHANGES(rename, (const char *from, const char *to), (from, to))
CHANGES(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
CHANGES(renameat2, (int a, const char *from, int b, const char *to, unsigned how), (a, from, b, to, how))
CHANGES(mkdir, (const char *path, mode_t access), (path, access))
CHANGES(unlink, (const char *path), (path))
CHANGES(unlinkat, (int at, const char *path, int how), (at, path, how))
CHANGES(rmdir, (const char *path), (path))
WRITES(int, fsync, (int fd), (fd))
WRITES(int, ftruncate, (int fd, off_t size), (fd, size))
WRITES(int, ftruncate64, (int fd, off64_t size), (fd, size))
WRITES(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRITES(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITES(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRITES(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
