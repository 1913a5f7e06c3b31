//! Goes through everything that the parser found in a command: only what is named here is harmless.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList,
    IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect, Pipeline, SeparatorOperator,
    SimpleCommand,
};
use brush_parser::{ParserOptions, parse_tokens, uncached_tokenize_str};

use crate::script;
use crate::table;
use crate::why::{Why, shown};
use crate::word::Word;

/// What a loop may set: names that mean nothing to any shell or program. `for PATH in …` sets what the commands after it mean; in zsh
/// `for path in …` does as well.
const LOOP_VARIABLES: [&str; 6] = ["f", "file", "i", "d", "dir", "x"];

/// Judges a command that [`screen`](crate::screen::screen) let through.
pub(crate) fn program(command: &str) -> Result<(), Why> {
    // Without extended patterns `!(x)` and `@(x)` cannot be parsed, so they are not harmless.
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let tokens = uncached_tokenize_str(command, &options.tokenizer_options()).map_err(|_| Why::Unparsed)?;
    let program = parse_tokens(&tokens, &options).map_err(|_| Why::Unparsed)?;
    if program.complete_commands.is_empty() {
        return Err(Why::Empty);
    }
    program.complete_commands.iter().try_for_each(list)
}

fn list(list: &CompoundList) -> Result<(), Why> {
    list.0.iter().try_for_each(|item| {
        if matches!(item.1, SeparatorOperator::Async) {
            return construct("a command in the background");
        }
        pipeline(&item.0.first)?;
        item.0.additional.iter().try_for_each(|next| match next {
            AndOr::And(next) | AndOr::Or(next) => pipeline(next),
        })
    })
}

fn pipeline(pipeline: &Pipeline) -> Result<(), Why> {
    // In `sh` this is a program that can write its result to a file.
    if pipeline.timed.is_some() {
        return construct("time");
    }
    if pipeline.seq.is_empty() {
        return Err(Why::Empty);
    }
    pipeline.seq.iter().try_for_each(command)
}

fn command(command: &Command) -> Result<(), Why> {
    match command {
        Command::Simple(simple) => self::simple(simple),
        Command::Compound(compound, redirects) => {
            redirects.iter().flat_map(|list| &list.0).try_for_each(redirect)?;
            self::compound(compound)
        }
        Command::Function(_) => construct("a function"),
        // Its operands may be arithmetic, which runs what stands in `a[$(…)]`.
        Command::ExtendedTest(..) => construct("[["),
    }
}

fn compound(compound: &CompoundCommand) -> Result<(), Why> {
    match compound {
        CompoundCommand::BraceGroup(group) => list(&group.list),
        CompoundCommand::Subshell(subshell) => list(&subshell.list),
        CompoundCommand::IfClause(clause) => {
            list(&clause.condition)?;
            list(&clause.then)?;
            clause.elses.iter().flatten().try_for_each(|other| {
                other.condition.iter().try_for_each(list)?;
                list(&other.body)
            })
        }
        CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => construct("arithmetic"),
        CompoundCommand::ForClause(clause) => {
            if !LOOP_VARIABLES.contains(&clause.variable_name.as_str()) {
                return construct("a loop over a variable that may mean something");
            }
            let values = clause.values.iter().flatten().map(|word| Word::read(&word.value));
            for value in values {
                if is_brace(&value) {
                    return construct("a brace by itself");
                }
                // What zsh runs when the variable stands in a number's place.
                if value.beginning().is_some_and(script::evaluated) {
                    return construct("a loop over what is arithmetic to some shells");
                }
            }
            list(&clause.body.list)
        }
        CompoundCommand::CaseClause(_) => construct("a case"),
        CompoundCommand::WhileClause(_) | CompoundCommand::UntilClause(_) => construct("a loop"),
        CompoundCommand::Coprocess(_) => construct("a command in the background"),
    }
}

fn simple(simple: &SimpleCommand) -> Result<(), Why> {
    for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
        match item {
            Item::IoRedirect(to) => redirect(to)?,
            Item::AssignmentWord(_, word) if table::HARMLESS_ASSIGNMENTS.contains(&word.value.as_str()) => {}
            Item::AssignmentWord(..) => return construct("an assignment"),
            Item::Word(_) => return Err(Why::Unparsed),
            Item::ProcessSubstitution(..) => return construct("a process substitution"),
        }
    }
    let Some(name) = &simple.word_or_name else {
        // `LC_ALL=C` by itself changes what later commands do; `> file` empties it.
        return construct("an assignment or a redirection without a command");
    };
    let mut words = Vec::new();
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            Item::IoRedirect(to) => redirect(to)?,
            Item::Word(word) | Item::AssignmentWord(_, word) => words.push(Word::read(&word.value)),
            Item::ProcessSubstitution(..) => return construct("a process substitution"),
        }
    }
    if words.iter().any(is_brace) {
        return construct("a brace by itself");
    }
    let Word::Literal(name) = Word::read(&name.value) else { return Err(Why::UnknownName) };
    let called = table::usual(&name);
    match table::find(called) {
        Some(program) => program.judge(called, &words),
        None => Err(Why::Program { program: shown(&name) }),
    }
}

/// A closing brace ends a group in one shell and is an argument in another.
fn is_brace(word: &Word) -> bool {
    matches!(word.literal(), Some("}" | "{"))
}

fn redirect(redirect: &IoRedirect) -> Result<(), Why> {
    let literal = |word: &str| match Word::read(word) {
        Word::Literal(text) => Some(text),
        _ => None,
    };
    let fd = match redirect {
        IoRedirect::File(fd, ..) => *fd,
        _ => None,
    };
    let harmless = match redirect {
        // bash connects to what `/dev/tcp` names.
        IoRedirect::File(_, Kind::Read, Target::Filename(word)) => {
            literal(&word.value).is_some_and(|path| path == "/dev/null" || !path.starts_with("/dev/"))
        }
        IoRedirect::File(_, Kind::Write | Kind::Append, Target::Filename(word)) => {
            literal(&word.value).is_some_and(|path| path == "/dev/null")
        }
        // To dash `a &>f b` is `a &` and then `>f b`: it runs what other shells take for an argument.
        IoRedirect::OutputAndError(..) => false,
        IoRedirect::File(_, Kind::DuplicateOutput, Target::Duplicate(word)) => {
            matches!(word.value.as_str(), "1" | "2")
        }
        _ => false,
    };
    // Other numbers may be files that the host has open.
    let harmless = harmless && matches!(fd, None | Some(0..=2));
    if harmless { Ok(()) } else { Err(Why::Redirection) }
}

fn construct(what: &'static str) -> Result<(), Why> {
    Err(Why::Construct { what })
}
