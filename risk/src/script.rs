//! Programs whose arguments are a language: only the part of it that reads is harmless.

use crate::argument::begins_operand;
use crate::nested;
use crate::word::Word;

type Judged<'a> = Result<(), &'a Word>;

/// Whether a word is an option and no operand.
pub(crate) fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

fn each<'a>(words: &'a [Word], harmless: impl Fn(&Word) -> bool) -> Judged<'a> {
    words.iter().find(|word| !harmless(word)).map_or(Ok(()), Err)
}

/// A word that stays an operand, whatever it becomes.
fn operand(word: &Word) -> bool {
    match word {
        Word::Literal(text) => !is_option(text),
        Word::Begins(start) | Word::One(start) => begins_operand(start),
        Word::Anything => false,
    }
}

/// Primaries of `find` that look and print. `-delete`, `-execdir`, `-ok`, `-fprint` and their kin are not among them, nor is
/// `-files0-from`, which reads starting points that nobody has seen.
const FIND: &str = " -H -L -P -E -x -a -and -o -or -not -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex \
     -iregex -regextype -type -xtype -maxdepth -mindepth -depth -d -size -empty -mtime -mmin -atime -amin -ctime -cmin -newer -anewer \
     -cnewer -newermt -newerct -newerat -perm -user -group -uid -gid -nouser -nogroup -links -inum -samefile -readable -writable \
     -executable -print -print0 -printf -ls -prune -quit -true -false -xdev -mount -fstype -follow -daystart -noleaf -used \
     -warn -nowarn ";

/// `find`: each word that looks like a part of the expression must be a harmless one, as a value too. A pattern without quotes may
/// become a file's name, and a file may be called `-delete`.
pub(crate) fn find(words: &[Word]) -> Judged<'_> {
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        rest = match word {
            Word::Literal(text) if text == "-exec" => nested::exec(behind).ok_or(word)?,
            Word::Literal(text) if is_option(text) => {
                let number = text.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
                if !number && (text.contains(' ') || !FIND.contains(&format!(" {text} "))) {
                    return Err(word);
                }
                behind
            }
            word if operand(word) => behind,
            word => return Err(word),
        };
    }
    Ok(())
}

/// `sed` that prints: never `-i`, `-f`, and no command but those of [`sed_script`].
pub(crate) fn sed(words: &[Word]) -> Judged<'_> {
    let mut scripts = 0;
    let mut script_next = false;
    let mut operands = false;
    for word in words {
        let Some(text) = word.literal() else {
            if scripts > 0 && !script_next && operand(word) {
                operands = true;
                continue;
            }
            return Err(word);
        };
        let harmless = if script_next {
            script_next = false;
            scripts += 1;
            sed_script(text)
        } else if is_option(text) {
            let letters = text.strip_prefix('-').unwrap_or_default();
            script_next = !letters.starts_with('-') && letters.ends_with('e');
            let flags = letters.strip_suffix('e').unwrap_or(letters);
            let known = matches!(text, "--quiet" | "--silent" | "--regexp-extended")
                || flags.chars().all(|flag| matches!(flag, 'n' | 'E' | 'r' | 's' | 'u' | 'z'));
            // Behind an operand some systems take it for a file, and the operand for the script.
            known && !operands
        } else if scripts == 0 {
            scripts += 1;
            operands = true;
            sed_script(text)
        } else {
            operands = true;
            true
        };
        if !harmless {
            return Err(word);
        }
    }
    if script_next { words.last().map_or(Ok(()), Err) } else { Ok(()) }
}

/// A script of addresses with `p`, `d`, `q`, `=` and `l`, or one `s` without the flags `e` (runs) and `w` (writes).
fn sed_script(script: &str) -> bool {
    substitution(script).unwrap_or(false) || script.split([';', '\n']).all(|command| printing(command.trim()))
}

fn substitution(script: &str) -> Option<bool> {
    let mut rest = script.trim().strip_prefix('s')?.chars();
    let delimiter = rest.next().filter(|c| "/|#,:@%_".contains(*c))?;
    let mut found = 1;
    let mut flags = String::new();
    while let Some(c) = rest.next() {
        if c == '\n' {
            return None;
        } else if c == delimiter {
            found += 1;
        } else if c == '\\' {
            rest.next().filter(|next| *next != '\n')?;
        } else if found == 3 {
            flags.push(c);
        }
    }
    // Seds disagree about a delimiter between brackets. With three in all, the other reading has no end.
    Some(
        found == 3
            && flags.chars().all(|c| matches!(c, 'g' | 'p' | 'i' | 'I' | '0'..='9'))
            && !script.ends_with('\\'),
    )
}

fn printing(command: &str) -> bool {
    let Some(rest) = address(command) else { return false };
    let rest = match rest.strip_prefix(',') {
        Some(second) => match address(second.strip_prefix('+').unwrap_or(second)) {
            Some(rest) => rest,
            None => return false,
        },
        None => rest,
    };
    let rest = rest.strip_prefix('!').unwrap_or(rest);
    matches!(rest.trim(), "" | "p" | "d" | "q" | "=" | "l") && (!rest.is_empty() || command.is_empty())
}

/// What follows an address: a number, `$`, or a pattern without brackets and backslashes.
fn address(text: &str) -> Option<&str> {
    if let Some(pattern) = text.strip_prefix('/') {
        let (pattern, rest) = pattern.split_once('/')?;
        return (!pattern.contains(['[', '\\'])).then_some(rest);
    }
    Some(text.strip_prefix('$').unwrap_or_else(|| text.trim_start_matches(|c: char| c.is_ascii_digit())))
}

/// `awk` with a program in which nothing can write, run or load: `>` and `|` do as well as compare, so none may stand there.
pub(crate) fn awk(words: &[Word]) -> Judged<'_> {
    let mut value_next = false;
    let mut program = false;
    each_in_order(words, |word| {
        let Some(text) = word.literal() else { return program && operand(word) };
        if std::mem::take(&mut value_next) {
            return !is_option(text);
        }
        if is_option(text) {
            value_next = matches!(text, "-F" | "-v");
            return !program && (text.starts_with("-F") || text.starts_with("-v"));
        }
        if program {
            return true;
        }
        program = true;
        let plain = text.replace("||", "");
        !plain.contains(['>', '|', '@', '`'])
            && ["system", "getline", "extension"].iter().all(|word| !text.contains(word))
    })
}

fn each_in_order<'a>(words: &'a [Word], mut harmless: impl FnMut(&Word) -> bool) -> Judged<'a> {
    words.iter().find(|word| !harmless(word)).map_or(Ok(()), Err)
}

/// Text that some shells evaluate as arithmetic, which runs what stands in `a[$(…)]`.
pub(crate) fn evaluated(text: &str) -> bool {
    text.contains(['`', '[']) && text.len() > 1 || text.contains("$(")
}

/// `printf`: `-v` and `%n` set a variable (`PATH`), and zsh evaluates what it prints as a number.
pub(crate) fn printf(words: &[Word]) -> Judged<'_> {
    let Some((format, values)) = words.split_first() else { return Ok(()) };
    let Some(text) = format.literal().filter(|text| !text.starts_with('-')) else { return Err(format) };
    let text = text.replace("%%", "");
    let kinds = || {
        let after = |conversion: &str| {
            conversion.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.'".contains(c)).chars().next()
        };
        text.split('%').skip(1).map(after)
    };
    if !kinds().all(|kind| kind.is_some_and(|kind| "sbqcdiuoxXfeEgG".contains(kind))) {
        return Err(format);
    }
    let plain = kinds().all(|kind| kind == Some('s'));
    each(values, |value| plain || value.literal().is_some_and(number))
}

/// What zsh's arithmetic can only read. A name is none: its value is arithmetic again, and a loop may have set it.
fn number(text: &str) -> bool {
    text.strip_prefix('-').unwrap_or(text).chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// `exit`: a number, or nothing.
pub(crate) fn exit(words: &[Word]) -> Judged<'_> {
    each(words, |word| word.literal().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit())))
}

/// `test` and `[`: `-v` and `-R` evaluate their operand.
pub(crate) fn test(words: &[Word]) -> Judged<'_> {
    const UNARY: [&str; 11] = ["-e", "-f", "-d", "-n", "-z", "-s", "-r", "-w", "-x", "-L", "-h"];
    const NUMERIC: [&str; 11] = ["-t", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "!", "-a", "-o", "-n"];
    let inner = match words.split_last() {
        Some((Word::Literal(end), inner)) if end == "]" => inner,
        _ => words,
    };
    let compares = |text: &str| NUMERIC.iter().take(7).any(|&operator| operator == text);
    let counts = inner.iter().any(|word| word.literal().is_some_and(compares));
    let literal =
        |word: &Word| word.literal().is_some_and(|text| !matches!(text, "-v" | "-R") && !evaluated(text));
    match inner {
        [Word::Literal(operator), Word::One(_)] if UNARY.contains(&operator.as_str()) => Ok(()),
        [first, Word::Literal(operator), last] if matches!(operator.as_str(), "=" | "!=" | "==") => {
            each(std::slice::from_ref(first), |word| literal(word) || matches!(word, Word::One(_)))?;
            each(std::slice::from_ref(last), |word| literal(word) || matches!(word, Word::One(_)))
        }
        // In zsh the operands of a comparison of numbers are arithmetic.
        _ => each(inner, |word| {
            // A name in a number's place is one whose value is arithmetic again.
            let named = |text: &str| counts && !NUMERIC.contains(&text) && !number(text);
            let assigns = |text: &str| {
                text.contains("++")
                    || text.contains("--")
                    || (text.contains('=') && !matches!(text, "=" | "==" | "!="))
            };
            literal(word) && !word.literal().is_some_and(|text| assigns(text) || named(text))
        }),
    }
}

/// `set`: only what makes a script stop earlier. Tracing expands `PS4`.
pub(crate) fn set(words: &[Word]) -> Judged<'_> {
    const HARMLESS: [&str; 12] =
        ["-e", "-u", "-eu", "-ue", "-o", "-eo", "-uo", "-euo", "+e", "pipefail", "errexit", "nounset"];
    each(words, |word| word.literal().is_some_and(|text| HARMLESS.contains(&text)))
}
