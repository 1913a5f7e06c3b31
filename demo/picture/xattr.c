/* xattr set NAME VALUE PATH, xattr remove NAME PATH: what setfattr does, for machines that have no setfattr.
   Never follows a final symbolic link. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not supported by the file system. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

int main(int argc, char **argv) {
    int failed;
    if (argc == 5 && !strcmp(argv[1], "set")) {
        failed = lsetxattr(argv[4], argv[2], argv[3], strlen(argv[3]), 0);
    } else if (argc == 4 && !strcmp(argv[1], "remove")) {
        failed = lremovexattr(argv[3], argv[2]);
    } else {
        fprintf(stderr, "usage: xattr set NAME VALUE PATH\n       xattr remove NAME PATH\n");
        return 2;
    }
    if (!failed) return 0;
    fprintf(stderr, "xattr: %s of %s: %s\n", argv[1], argv[argc - 1], strerror(errno));
    return errno == ENOTSUP ? 3 : 1;
}
