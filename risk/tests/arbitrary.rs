//! G14: whatever it is given, the judgement ends without a panic; and what it trusts holds no word that it cannot know.

use proptest::prelude::*;
use turnback_risk::is_read_only;

/// Pieces of shell, so that random commands get past the first character.
const PIECES: [&str; 66] = [
    "ls",
    "cat",
    "rm",
    "echo",
    "find",
    "git",
    "sed",
    "awk",
    "test",
    "99999999999",
    "xargs",
    "-exec",
    "{}",
    "\\;",
    "+",
    "[",
    "]",
    "[[",
    "]]",
    "if",
    "then",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "case",
    "esac",
    "{",
    "}",
    "(",
    ")",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "<",
    ">",
    ">>",
    "<<",
    "<<<",
    "2>&1",
    "/dev/null",
    "'",
    "\"",
    "\\",
    "$",
    "${",
    "$(",
    "`",
    "!",
    "#",
    "~",
    "*",
    "?",
    "=",
    "-delete",
    " ",
    " ",
    "\n",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn g14_arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = is_read_only(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn g14_arbitrary_text_behind_a_harmless_command_never_panics(text in "\\PC{0,80}") {
        let _ = is_read_only(&format!("ls {text}"));
    }

    #[test]
    fn g14_pieces_of_shell_never_panic(pieces in prop::collection::vec(0..PIECES.len(), 0..40), spaced in any::<bool>()) {
        let words: Vec<&str> = pieces.iter().filter_map(|i| PIECES.get(*i).copied()).collect();
        let _ = is_read_only(&words.join(if spaced { " " } else { "" }));
    }

    /// Whatever stands before or behind it, a line that removes something is never covered up: not as a quote, not as a comment.
    #[test]
    fn g14_nothing_hides_a_line_that_removes(pieces in prop::collection::vec(0..PIECES.len(), 0..20), text in "[ -~\n]{0,40}") {
        let words: Vec<&str> = pieces.iter().filter_map(|i| PIECES.get(*i).copied()).collect();
        for other in [words.join(" "), text.clone(), format!("# {text}"), format!("ls '{text}'")] {
            for made in [format!("{other}\nrm x"), format!("rm x\n{other}")] {
                prop_assert!(!is_read_only(&made).is_read_only(), "{made}");
            }
        }
    }

    /// A program's name made of random letters is in no table, wherever it stands and whatever stands around it.
    #[test]
    fn g14_an_unknown_program_is_never_read_only(
        name in "zz[a-z]{1,8}",
        before in prop::sample::select(vec!["", "ls; ", "ls && ", "ls | ", "ls\n", "! ", "( ", "true || ", "{ "]),
        arguments in "[ -~]{0,30}",
    ) {
        let close = match before { "( " => " )", "{ " => "; }", _ => "" };
        let made = format!("{before}{name} {arguments}{close}");
        prop_assert!(!is_read_only(&made).is_read_only(), "{made}");
    }
}
