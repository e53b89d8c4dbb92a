/* Writes down every change of files below one directory, in order: loaded before the C library.
 *
 * A record is the header below, then two paths and the data, of the lengths that it names. Files are
 * told apart by their inode. Memory maps are not seen: SQLite's index of its log is made anew. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, RESIZE, SYNC, RENAME, UNLINK, MKDIR, RMDIR, LINK, MARK };

struct header {
    uint32_t operation, path, other;
    uint32_t unused;
    uint64_t inode, at, data;
};

static int book = -1;
static char root[PATH_MAX];
static size_t root_length;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void note(uint32_t operation, const char *path, const char *other, uint64_t inode,
                 uint64_t at, const void *data, size_t length) {
    int kept = errno;
    struct header head = {operation, strlen(path), strlen(other), 0, inode, at, length};
    struct iovec parts[4] = {{&head, sizeof head},
                             {(void *)path, head.path},
                             {(void *)other, head.other},
                             {(void *)data, length}};
    if (syscall(SYS_writev, book, parts, 4) < 0)
        _exit(98); /* a record with a gap proves nothing */
    errno = kept;
}

/* Whether a path is below the root; makes it absolute. */
static int inside(int directory, const char *path, char *full) {
    if (book < 0)
        return 0;
    if (path[0] == '/') {
        snprintf(full, PATH_MAX, "%s", path);
    } else {
        char place[64], base[PATH_MAX];
        snprintf(place, sizeof place, "/proc/self/fd/%d", directory);
        ssize_t length = readlink(directory == AT_FDCWD ? "/proc/self/cwd" : place, base, PATH_MAX - 1);
        if (length < 0)
            return 0;
        base[length] = 0;
        if (strcmp(path, ".") == 0)
            snprintf(full, PATH_MAX, "%s", base);
        else
            snprintf(full, PATH_MAX, "%.2000s/%.2000s", base, path);
    }
    return strncmp(full, root, root_length) == 0 && (full[root_length] == '/' || !full[root_length]);
}

/* Inode of an open file below the root, or 0. */
static uint64_t inode_of(int file) {
    char place[64], path[PATH_MAX];
    struct stat info;
    if (book < 0)
        return 0;
    snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    ssize_t length = readlink(place, path, PATH_MAX - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    if (strncmp(path, root, root_length) != 0 || fstat(file, &info) != 0)
        return 0;
    return info.st_ino;
}

static uint64_t inode_at(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 ? info.st_ino : 0;
}

void power_start(const char *below, const char *record) {
    snprintf(root, sizeof root, "%s", below);
    root_length = strlen(root);
    book = syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void power_stop(void) {
    close(book);
    book = -1;
}

void power_mark(const char *text) {
    pthread_mutex_lock(&turn);
    if (book >= 0)
        note(MARK, text, "", 0, 0, "", 0);
    pthread_mutex_unlock(&turn);
}

static int opened(int directory, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    if (!inside(directory, path, full) || !(flags & (O_CREAT | O_TRUNC)))
        return syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&turn);
    int was_there = inode_at(full) != 0;
    int file = syscall(SYS_openat, directory, path, flags, mode);
    if (file >= 0 && !was_there)
        note(CREATE, full, "", inode_of(file), 0, "", 0);
    else if (file >= 0 && (flags & O_TRUNC))
        note(RESIZE, full, "", inode_of(file), 0, "", 0);
    pthread_mutex_unlock(&turn);
    return file;
}

#define MODE(flags)                                                                                  \
    mode_t mode = 0;                                                                                 \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                             \
        va_list rest;                                                                                \
        va_start(rest, flags);                                                                       \
        mode = va_arg(rest, int);                                                                    \
        va_end(rest);                                                                                \
    }

int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags, mode); }
int creat(const char *path, mode_t mode) {
    return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* `at` below zero: where the file's own position is. */
static ssize_t written(int file, const void *data, size_t length, off_t at) {
    uint64_t inode = inode_of(file);
    if (!inode)
        return at < 0 ? syscall(SYS_write, file, data, length)
                      : syscall(SYS_pwrite64, file, data, length, at);
    pthread_mutex_lock(&turn);
    ssize_t done = at < 0 ? syscall(SYS_write, file, data, length)
                          : syscall(SYS_pwrite64, file, data, length, at);
    if (done > 0)
        note(WRITE, "", "", inode, at < 0 ? lseek(file, 0, SEEK_CUR) - done : at, data, done);
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t write(int file, const void *data, size_t length) { return written(file, data, length, -1); }
ssize_t pwrite(int file, const void *data, size_t length, off_t at) { return written(file, data, length, at); }
ssize_t pwrite64(int file, const void *data, size_t length, off64_t at) { return written(file, data, length, at); }
ssize_t writev(int file, const struct iovec *parts, int count) {
    if (!inode_of(file))
        return syscall(SYS_writev, file, parts, count);
    return count ? written(file, parts[0].iov_base, parts[0].iov_len, -1) : 0; /* a short write is legal */
}

static int resized(int file, off_t size) {
    uint64_t inode = inode_of(file);
    pthread_mutex_lock(&turn);
    int code = syscall(SYS_ftruncate, file, size);
    if (inode && code == 0)
        note(RESIZE, "", "", inode, size, "", 0);
    pthread_mutex_unlock(&turn);
    return code;
}
int ftruncate(int file, off_t size) { return resized(file, size); }
int ftruncate64(int file, off64_t size) { return resized(file, size); }

static int synced(int file, long call) {
    uint64_t inode = inode_of(file);
    pthread_mutex_lock(&turn);
    int code = syscall(call, file);
    if (inode && code == 0)
        note(SYNC, "", "", inode, 0, "", 0);
    pthread_mutex_unlock(&turn);
    return code;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

static int renamed(int from, const char *old, int to, const char *new) {
    char one[PATH_MAX], other[PATH_MAX];
    int known = inside(from, old, one) | inside(to, new, other);
    pthread_mutex_lock(&turn);
    int code = syscall(SYS_renameat2, from, old, to, new, 0);
    if (known && code == 0)
        note(RENAME, one, other, 0, 0, "", 0);
    pthread_mutex_unlock(&turn);
    return code;
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new); }
int renameat(int from, const char *old, int to, const char *new) { return renamed(from, old, to, new); }

static int removed(int directory, const char *path, int flags) {
    char full[PATH_MAX];
    int known = inside(directory, path, full);
    pthread_mutex_lock(&turn);
    int code = syscall(SYS_unlinkat, directory, path, flags);
    if (known && code == 0)
        note(flags & AT_REMOVEDIR ? RMDIR : UNLINK, full, "", 0, 0, "", 0);
    pthread_mutex_unlock(&turn);
    return code;
}
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int directory, const char *path, int flags) { return removed(directory, path, flags); }
int remove(const char *path) { return unlink(path); }

static int made(int directory, const char *path, mode_t mode) {
    char full[PATH_MAX];
    int known = inside(directory, path, full);
    pthread_mutex_lock(&turn);
    int code = syscall(SYS_mkdirat, directory, path, mode);
    if (known && code == 0)
        note(MKDIR, full, "", inode_at(full), 0, "", 0);
    pthread_mutex_unlock(&turn);
    return code;
}
int mkdir(const char *path, mode_t mode) { return made(AT_FDCWD, path, mode); }
int mkdirat(int directory, const char *path, mode_t mode) { return made(directory, path, mode); }

static int linked(int from, const char *old, int to, const char *new, int flags) {
    char one[PATH_MAX], other[PATH_MAX];
    int known = inside(from, old, one) | inside(to, new, other);
    pthread_mutex_lock(&turn);
    int code = syscall(SYS_linkat, from, old, to, new, flags);
    if (known && code == 0)
        note(LINK, one, other, inode_at(other), 0, "", 0);
    pthread_mutex_unlock(&turn);
    return code;
}
int link(const char *old, const char *new) { return linked(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int from, const char *old, int to, const char *new, int flags) { return linked(from, old, to, new, flags); }
