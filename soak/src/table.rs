//! The table that `cargo xtask soak` prints.

use crate::outcome::{Outcome, Promise};

/// The promises in a few words, beside which the figures stand.
const PROMISES: [(u8, &str); 14] = [
    (1, "a listed checkpoint is whole"),
    (2, "survives a power cut"),
    (3, "never half-restored"),
    (4, "nothing outside the root is touched"),
    (5, "a file that changes is reported"),
    (6, "the round trip is exact"),
    (7, "corruption is found before use"),
    (8, "deletion removes nothing that lives"),
    (9, "a dead holder wedges nobody"),
    (10, "a full disk loses nothing"),
    (11, "nothing is published after a timeout"),
    (12, "nothing is called done that is not"),
    (13, "a checkpoint leaves the tree alone"),
    (15, "the parsers take anything"),
];

/// What a promise says, in a few words.
#[must_use]
pub fn promise(number: Promise) -> &'static str {
    PROMISES.iter().find(|(n, _)| *n == number.0).map_or("", |(_, text)| text)
}

/// The table as Markdown: promise, what was run, figure, verdict. Promises without a figure stand in it as well.
#[must_use]
pub fn render(outcomes: &[(&str, Outcome)]) -> String {
    let mut rows = vec![["promise", "method", "what was run", "figure", "verdict"].map(str::to_owned)];
    for (number, text) in PROMISES {
        let named = format!("P{number} {text}");
        let mut found = false;
        for (method, outcome) in outcomes {
            for f in outcome.figures.iter().filter(|f| f.promise.0 == number) {
                found = true;
                let verdict = match f.breaches {
                    0 => "holds".to_owned(),
                    n => format!("BROKEN ({n})"),
                };
                rows.push([named.clone(), (*method).to_owned(), f.what.clone(), f.figure.clone(), verdict]);
            }
        }
        if !found {
            rows.push([named, String::new(), "nothing".into(), String::new(), "not shown".into()]);
        }
    }
    let widths: Vec<usize> =
        (0..5).map(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0)).collect();
    let line = |cells: &[String; 5]| {
        let padded: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("| {} |\n", padded.join(" | "))
    };
    let mut text = line(&rows[0]);
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    text.push_str(&format!("| {} |\n", rule.join(" | ")));
    rows[1..].iter().for_each(|row| text.push_str(&line(row)));
    text
}
