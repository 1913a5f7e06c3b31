/* picture DIR: prints one line for every path of a directory tree, DIR itself (".") included, so that two moments
   of a tree can be compared. It shares no code and no language with the engine whose work it checks.

   Tab-separated fields, in this order (see FIELDS below):
     path type mode uid gid mtime size device:inode links holes sha256 target xattrs
   A byte that is not printable ASCII, and each of \ = ; is written as \xHH, so a line is always one record.
   It walks by directory descriptors with O_NOFOLLOW, never by a joined path, and holds three descriptors at most,
   so that neither depth nor width of the tree matters. Whatever cannot be read ends it with a message and code 1. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sha256.h"

static const char FIELDS[] = "#path\ttype\tmode\tuid\tgid\tmtime\tsize\tinode\tlinks\tholes\tsha256\ttarget\txattrs\n";

struct bytes {
    char *data;
    size_t length, capacity;
};

/* A directory being walked: its sorted names, the next one to visit, and who it is. */
struct level {
    char **names;
    size_t count, next;
    size_t path_length; /* length of its path in `path` */
    dev_t device;
    ino_t inode;
};

static struct bytes path; /* of the entry at hand, relative to the root, only ever printed */

static void escape_to(FILE *out, const char *p, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c < 0x20 || c > 0x7e || c == '\\' || c == '=' || c == ';')
            fprintf(out, "\\x%02x", c);
        else
            putc(c, out);
    }
}

static void die(const char *what) {
    int cause = errno;
    fprintf(stderr, "picture: cannot %s ", what);
    escape_to(stderr, path.length ? path.data : ".", path.length ? path.length : 1);
    fprintf(stderr, ": %s\n", strerror(cause));
    exit(1);
}

static void *must(void *p) {
    if (!p) {
        fprintf(stderr, "picture: out of memory\n");
        exit(1);
    }
    return p;
}

static void reserve(struct bytes *b, size_t capacity) {
    if (b->capacity >= capacity) return;
    b->capacity = capacity * 2;
    b->data = must(realloc(b->data, b->capacity));
}

static void push_name(const char *name) {
    size_t length = strlen(name);
    reserve(&path, path.length + length + 2);
    if (path.length) path.data[path.length++] = '/';
    memcpy(path.data + path.length, name, length);
    path.length += length;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Reads all names of the directory. Takes a descriptor of its own, so that `directory` keeps its position. */
static void read_names(int directory, struct level *level) {
    int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = own < 0 ? NULL : fdopendir(own);
    if (!stream) die("list");
    size_t capacity = 0;
    level->names = NULL;
    level->count = level->next = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (!entry) {
            if (errno) die("list");
            break;
        }
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (level->count == capacity) {
            capacity = capacity ? capacity * 2 : 16;
            level->names = must(realloc(level->names, capacity * sizeof *level->names));
        }
        level->names[level->count++] = must(strdup(entry->d_name));
    }
    closedir(stream);
    if (level->count) qsort(level->names, level->count, sizeof *level->names, by_bytes);
}

/* All extended attributes of `name` in the current directory (the link itself, if it is one), sorted by name. */
static void print_xattrs(const char *name) {
    static struct bytes list, value;
    ssize_t length;
    for (;;) {
        length = llistxattr(name, NULL, 0);
        if (length < 0 && errno == ENOTSUP) return;
        if (length < 0) die("list the extended attributes of");
        if (length == 0) return;
        reserve(&list, (size_t)length);
        length = llistxattr(name, list.data, list.capacity);
        if (length >= 0) break;
        if (errno != ERANGE) die("list the extended attributes of");
    }
    size_t count = 0;
    for (ssize_t i = 0; i < length; i += (ssize_t)strlen(list.data + i) + 1) count++;
    if (!count) return;
    char **names = must(malloc(count * sizeof *names));
    size_t filled = 0;
    for (ssize_t i = 0; i < length; i += (ssize_t)strlen(list.data + i) + 1) names[filled++] = list.data + i;
    qsort(names, count, sizeof *names, by_bytes);
    for (size_t i = 0; i < count; i++) {
        ssize_t size;
        for (;;) {
            size = lgetxattr(name, names[i], NULL, 0);
            if (size < 0) die("read an extended attribute of");
            reserve(&value, (size_t)size + 1);
            size = lgetxattr(name, names[i], value.data, value.capacity);
            if (size >= 0) break;
            if (errno != ERANGE) die("read an extended attribute of");
        }
        if (i) putchar(';');
        escape_to(stdout, names[i], strlen(names[i]));
        putchar('=');
        escape_to(stdout, value.data, (size_t)size);
    }
    free(names);
}

/* Bytes of the file that lie in holes. Zero where the file system does not tell. */
static off_t hole_bytes(int file, off_t size) {
    off_t holes = 0, at = 0;
    while (at < size) {
        off_t hole = lseek(file, at, SEEK_HOLE);
        if (hole < 0 || hole >= size) break;
        off_t data = lseek(file, hole, SEEK_DATA);
        if (data < 0) {
            if (errno == ENXIO) holes += size - hole;
            break;
        }
        holes += data - hole;
        at = data;
    }
    if (lseek(file, 0, SEEK_SET) < 0) die("rewind");
    return holes;
}

static int open_file(int directory, const char *name) {
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int file = openat(directory, name, flags | O_NOATIME);
    if (file < 0 && errno == EPERM) file = openat(directory, name, flags); /* O_NOATIME is the owner's right */
    return file;
}

static void print_contents(int directory, const char *name, const struct stat *seen) {
    static unsigned char buffer[1 << 17];
    struct sha256 sum;
    unsigned char digest[32];
    struct stat now;
    int file = open_file(directory, name);
    if (file < 0) die("open");
    if (fstat(file, &now)) die("stat");
    if (now.st_dev != seen->st_dev || now.st_ino != seen->st_ino) {
        errno = ESTALE;
        die("keep hold of");
    }
    printf("%jd\t", (intmax_t)hole_bytes(file, now.st_size));
    sha256_init(&sum);
    for (;;) {
        ssize_t n = read(file, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) die("read");
        if (n == 0) break;
        sha256_update(&sum, buffer, (size_t)n);
    }
    close(file);
    sha256_final(&sum, digest);
    for (int i = 0; i < 32; i++) printf("%02x", digest[i]);
}

static void print_target(int directory, const char *name) {
    static struct bytes target;
    for (reserve(&target, 256);; reserve(&target, target.capacity + 1)) {
        ssize_t n = readlinkat(directory, name, target.data, target.capacity);
        if (n < 0) die("read the link");
        if ((size_t)n == target.capacity) continue; /* perhaps cut short */
        escape_to(stdout, target.data, (size_t)n);
        return;
    }
}

static const char *type_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG: return "file";
    case S_IFDIR: return "directory";
    case S_IFLNK: return "symlink";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    case S_IFCHR: return "char-device";
    case S_IFBLK: return "block-device";
    default: return "unknown";
    }
}

/* `name` is relative to the current directory, which is the one `directory` stands for. */
static void print_entry(int directory, const char *name, const struct stat *st) {
    if (path.length)
        escape_to(stdout, path.data, path.length);
    else
        putchar('.');
    printf("\t%s\t%04o\t%ju\t%ju\t%jd.%09ld\t", type_of(st->st_mode), (unsigned)(st->st_mode & 07777),
           (uintmax_t)st->st_uid, (uintmax_t)st->st_gid, (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
    if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
        printf("%u:%u", major(st->st_rdev), minor(st->st_rdev));
    else
        printf("%jd", S_ISREG(st->st_mode) ? (intmax_t)st->st_size : (intmax_t)0);
    printf("\t%jx:%ju\t%ju\t", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino, (uintmax_t)st->st_nlink);
    if (S_ISREG(st->st_mode))
        print_contents(directory, name, st);
    else
        printf("0\t");
    putchar('\t');
    if (S_ISLNK(st->st_mode)) print_target(directory, name);
    putchar('\t');
    print_xattrs(name);
    putchar('\n');
}

/* Makes `name` of `from` the current directory and returns its descriptor. Closes `from`. */
static int move_to(int from, const char *name, dev_t device, ino_t inode) {
    struct stat st;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int to = openat(from, name, flags | O_NOATIME);
    if (to < 0 && errno == EPERM) to = openat(from, name, flags);
    if (to < 0) die("open");
    if (fstat(to, &st)) die("stat");
    if (st.st_dev != device || st.st_ino != inode) {
        errno = ESTALE;
        die("keep hold of");
    }
    if (fchdir(to)) die("enter");
    close(from);
    return to;
}

static void walk(int root, const struct stat *root_stat) {
    size_t depth = 0, capacity = 64;
    struct level *levels = must(malloc(capacity * sizeof *levels));
    int here = root;
    if (fchdir(here)) die("enter");
    print_entry(here, ".", root_stat);
    levels[0] = (struct level){.device = root_stat->st_dev, .inode = root_stat->st_ino};
    read_names(here, &levels[0]);
    for (;;) {
        struct level *level = &levels[depth];
        if (level->next == level->count) {
            free(level->names);
            if (depth == 0) break;
            depth--;
            path.length = levels[depth].path_length;
            here = move_to(here, "..", levels[depth].device, levels[depth].inode);
            continue;
        }
        char *name = level->names[level->next++];
        struct stat st;
        push_name(name);
        if (fstatat(here, name, &st, AT_SYMLINK_NOFOLLOW)) die("stat");
        print_entry(here, name, &st);
        if (S_ISDIR(st.st_mode)) {
            here = move_to(here, name, st.st_dev, st.st_ino);
            if (++depth == capacity) {
                capacity *= 2;
                levels = must(realloc(levels, capacity * sizeof *levels));
            }
            levels[depth] = (struct level){.path_length = path.length, .device = st.st_dev, .inode = st.st_ino};
            read_names(here, &levels[depth]);
        } else {
            path.length = level->path_length;
        }
        free(name);
    }
    free(levels);
    close(here);
}

int main(int argc, char **argv) {
    static char buffer[1 << 16];
    struct stat st;
    if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        printf("usage: picture DIR\n\nPrints one line for every path of DIR, itself included as \".\": type, mode, owner, mtime, size,\n"
               "inode, links, bytes in holes, SHA-256, link target and extended attributes, separated by tabs.\n"
               "Compare two pictures with: node demo/picture/compare.mjs BEFORE AFTER\n");
        return 0;
    }
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: picture DIR (picture -h tells more)\n");
        return 2;
    }
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    int root = open(argv[1], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0 || fstat(root, &st)) {
        fprintf(stderr, "picture: cannot open the directory %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    fputs(FIELDS, stdout);
    walk(root, &st);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "picture: cannot write the output: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
