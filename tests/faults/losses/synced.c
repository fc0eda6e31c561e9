/* Preloaded into Redis: notes beside each file how much of it was on disk when fsync or fdatasync returned. A power cut is
   then a kill -9 and a cut of each file to that size. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int note_after(const char *name, int fd) {
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    struct stat before;
    int known = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
    int result = sync(fd);
    if (result == 0 && known) {
        char link[64], path[PATH_MAX + 8], text[32];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, path, PATH_MAX);
        if (length > 0) {
            snprintf(path + length, 8, ".synced");
            int note = open(path, O_WRONLY | O_CREAT, 0600);
            int size = snprintf(text, sizeof text, "%-20lld", (long long)before.st_size);
            if (note >= 0 && pwrite(note, text, size, 0) < 0) result = -1;
            close(note);
        }
    }
    return result;
}

int fsync(int fd) { return note_after("fsync", fd); }
int fdatasync(int fd) { return note_after("fdatasync", fd); }
