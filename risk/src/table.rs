//! The programs that only read, and with which arguments (G14). A program or an option that is not here is destructive.
//!
//! An entry must hold for GNU, BSD and busybox: the strictest of them decides.

use crate::argument::{Operands, Options, Program, Reads};
use crate::nested;
use crate::script;

/// Assignments before a command that change nothing but the language of its output.
pub(crate) const HARMLESS_ASSIGNMENTS: [&str; 8] = [
    "LC_ALL=C",
    "LC_ALL=POSIX",
    "LC_ALL=C.UTF-8",
    "LC_ALL=en_US.UTF-8",
    "LANG=C",
    "LANG=C.UTF-8",
    "LC_COLLATE=C",
    "NO_COLOR=1",
];

const NONE: Options = Options { flags: "", valued: "", long: &[], words: &[], operands: Operands::Any };

const fn always(names: &'static [&'static str]) -> Program {
    Program { names, reads: Reads::Always }
}

const fn with(names: &'static [&'static str], options: Options) -> Program {
    Program { names, reads: Reads::With(options) }
}

const fn scripted(
    names: &'static [&'static str],
    judge: fn(&[crate::word::Word]) -> Result<(), &crate::word::Word>,
) -> Program {
    Program { names, reads: Reads::Scripted(judge) }
}

const VERSION: Reads = Reads::Exactly(&[&["--version"]]);

const PROGRAMS: &[Program] = &[
    // Builtins of the shell. `cd` moves the shell, not a file; `exit` ends it.
    always(&["cd"]),
    always(&["pwd"]),
    always(&["echo"]),
    always(&["true"]),
    always(&["false"]),
    always(&[":"]),
    always(&["type"]),
    // zsh evaluates its argument as arithmetic.
    scripted(&["exit"], script::exit),
    // `command NAME` runs it.
    Program { names: &["command"], reads: Reads::After(&["-v", "-V"]) },
    scripted(&["printf"], script::printf),
    scripted(&["test", "["], script::test),
    scripted(&["set"], script::set),
    // Files.
    always(&["ls"]),
    always(&["cat"]),
    always(&["head"]),
    always(&["tail"]),
    always(&["wc"]),
    always(&["nl"]),
    always(&["tac"]),
    always(&["rev"]),
    always(&["stat"]),
    always(&["du"]),
    always(&["df"]),
    always(&["basename"]),
    always(&["dirname"]),
    always(&["readlink"]),
    always(&["realpath"]),
    always(&["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum"]),
    always(&["od"]),
    always(&["cmp"]),
    always(&["comm"]),
    // Its one program is `pr`, with --paginate.
    always(&["diff"]),
    // -C compiles a magic file, -p sets times, -z runs decompressors.
    with(
        &["file"],
        Options {
            flags: "biLhkN0",
            long: &[
                "--brief",
                "--mime",
                "--mime-type",
                "--mime-encoding",
                "--dereference",
                "--no-dereference",
            ],
            ..NONE
        },
    ),
    // -o writes, and so does -R with -H: a 00Tree.html in each directory.
    with(
        &["tree"],
        Options {
            flags: "adflsphDugFCnrtcUvxiJXS",
            // In older ones the letters behind L go on being options.
            words: &["-L", "-I", "-P"],
            long: &[
                "--dirsfirst",
                "--gitignore",
                "--noreport",
                "--prune",
                "--du",
                "--filelimit",
                "--ignore-case",
                "--matchdirs",
            ],
            ..NONE
        },
    ),
    // The second operand is a file that it writes; -r writes bytes. Its letters do not stand together: -ps is -p.
    with(
        &["xxd"],
        Options {
            valued: "lscg",
            words: &["-p", "-ps", "-b", "-i", "-u"],
            operands: Operands::AtMost(1),
            ..NONE
        },
    ),
    // BSD's -o writes.
    with(
        &["base64"],
        Options {
            flags: "dD",
            valued: "w",
            long: &["--decode", "--wrap"],
            operands: Operands::AtMost(1),
            ..NONE
        },
    ),
    // Searching.
    always(&["grep", "egrep", "fgrep"]),
    scripted(&["find"], script::find),
    scripted(&["xargs"], nested::xargs),
    // --pre and --hostname-bin run programs, -z runs decompressors.
    with(
        &["rg"],
        Options {
            flags: "ivnlcwxosSFUPL.uqHNIpa0h",
            valued: "egtTABCmrdjME",
            long: &[
                "--after-context",
                "--before-context",
                "--case-sensitive",
                "--color",
                "--column",
                "--context",
                "--count",
                "--count-matches",
                "--files",
                "--files-with-matches",
                "--files-without-match",
                "--fixed-strings",
                "--follow",
                "--glob",
                "--heading",
                "--hidden",
                "--iglob",
                "--ignore-case",
                "--invert-match",
                "--json",
                "--line-number",
                "--line-regexp",
                "--max-columns",
                "--max-count",
                "--max-depth",
                "--multiline",
                "--multiline-dotall",
                "--no-filename",
                "--no-heading",
                "--no-ignore",
                "--no-ignore-vcs",
                "--no-line-number",
                "--no-messages",
                "--only-matching",
                "--passthru",
                "--pcre2",
                "--pretty",
                "--regexp",
                "--replace",
                "--smart-case",
                "--sort",
                "--sortr",
                "--stats",
                "--text",
                "--trim",
                "--type",
                "--type-list",
                "--type-not",
                "--version",
                "--vimgrep",
                "--with-filename",
                "--word-regexp",
            ],
            ..NONE
        },
    ),
    // -x and -X run a program for each file, -l runs ls.
    with(
        &["fd", "fdfind"],
        Options {
            flags: "HIsigFpaLu0",
            valued: "tedEc",
            long: &[
                "--absolute-path",
                "--color",
                "--exclude",
                "--extension",
                "--fixed-strings",
                "--follow",
                "--full-path",
                "--glob",
                "--hidden",
                "--ignore-case",
                "--max-depth",
                "--min-depth",
                "--no-ignore",
                "--type",
            ],
            ..NONE
        },
    ),
    // Text.
    always(&["cut"]),
    always(&["tr"]),
    always(&["paste"]),
    always(&["fold"]),
    always(&["fmt"]),
    always(&["expand"]),
    always(&["unexpand"]),
    always(&["join"]),
    always(&["column"]),
    always(&["numfmt"]),
    always(&["seq"]),
    scripted(&["sed"], script::sed),
    scripted(&["awk", "gawk", "mawk", "nawk"], script::awk),
    // -o writes, --compress-program runs, -T says where to write. What it cannot keep in memory goes to TMPDIR and away again.
    with(
        &["sort"],
        Options {
            flags: "bcCdfghiMnRrsuVz",
            valued: "kt",
            long: &[
                "--numeric-sort",
                "--reverse",
                "--unique",
                "--key",
                "--field-separator",
                "--human-numeric-sort",
                "--version-sort",
                "--ignore-case",
                "--general-numeric-sort",
                "--stable",
                "--zero-terminated",
                "--check",
            ],
            ..NONE
        },
    ),
    // The second operand is a file that it writes.
    with(
        &["uniq"],
        Options {
            flags: "cdDuiz",
            valued: "fsw",
            long: &["--count", "--repeated", "--unique", "--ignore-case"],
            operands: Operands::AtMost(1),
            ..NONE
        },
    ),
    // Other programs of this kind have --in-place; jq has not, but a later one may.
    with(
        &["jq"],
        Options {
            flags: "rcensSMCjaR",
            long: &[
                "--raw-output",
                "--compact-output",
                "--null-input",
                "--slurp",
                "--sort-keys",
                "--exit-status",
                "--arg",
                "--argjson",
                "--tab",
                "--raw-input",
                "--join-output",
                "--indent",
                "--monochrome-output",
            ],
            ..NONE
        },
    ),
    // The system. A date or a name as an operand would be set.
    with(
        &["date"],
        Options {
            flags: "uR",
            valued: "dr",
            long: &[
                "--date",
                "--utc",
                "--universal",
                "--iso-8601",
                "--rfc-3339",
                "--rfc-email",
                "--reference",
            ],
            words: &["-I", "-Idate", "-Iseconds", "-Iminutes", "-Ihours"],
            operands: Operands::Beginning('+'),
        },
    ),
    Program { names: &["hostname"], reads: Reads::Bare },
    // `env NAME` runs it.
    Program { names: &["env"], reads: Reads::Bare },
    always(&["printenv"]),
    always(&["which"]),
    always(&["uname"]),
    always(&["whoami"]),
    always(&["id"]),
    always(&["groups"]),
    // On macOS it runs the program that it is given.
    Program { names: &["arch"], reads: Reads::Exactly(&[&[]]) },
    always(&["nproc"]),
    always(&["uptime"]),
    always(&["free"]),
    always(&["ps"]),
    always(&["sleep"]),
    always(&["tty"]),
    always(&["getconf"]),
    // Programs that run others, asked for nothing but their version. Not among them: npm (writes logs), java (leaves files in /tmp), and cargo, rustc and go, which may
    // fetch the toolchain that the directory asks for.
    Program { names: &["node"], reads: Reads::Exactly(&[&["--version"], &["-v"]]) },
    Program { names: &["python3", "python"], reads: Reads::Exactly(&[&["--version"], &["-V"]]) },
    Program { names: &["ruby"], reads: Reads::Exactly(&[&["--version"], &["-v"]]) },
    Program { names: &["bash", "gcc", "g++", "clang", "make", "cmake", "docker", "tar"], reads: VERSION },
    Program { names: &["git"], reads: Reads::Git },
];

/// Where the usual programs lie: a name that is written out so is the same program.
const USUAL_DIRECTORIES: [&str; 2] = ["/bin/", "/usr/bin/"];

/// The name of a program without the directory, where that is one of the usual ones.
pub(crate) fn usual(name: &str) -> &str {
    USUAL_DIRECTORIES.iter().find_map(|directory| name.strip_prefix(directory)).unwrap_or(name)
}

/// Whether a program is one that reads whatever its arguments are.
pub(crate) fn reads_always(name: &str) -> bool {
    find(name).is_some_and(|program| matches!(program.reads, Reads::Always))
}

/// The row of a program.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}
