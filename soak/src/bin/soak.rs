//! `soak [--minutes N] [--methods A,B]`: each method for a while, then the table of figures beside the promises. Exit code 1 on any
//! breach. `cargo xtask soak` builds and starts it. Several can run at once: each works in directories of its own.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;
use turnback_soak::{Budget, Outcome, methods, operation, table};

/// How many breaches of a method are printed.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    match run(Arguments::from_env()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The methods of a list of names, in the order of the list; all of them without one.
fn chosen(names: Option<&str>) -> Result<Vec<&'static methods::Method>> {
    let Some(names) = names else { return Ok(methods::ALL.iter().collect()) };
    let of = |name: &str| {
        methods::ALL.iter().find(|m| m.name == name).with_context(|| {
            let all: Vec<_> = methods::ALL.iter().map(|m| m.name).collect();
            format!("there is no method {name:?}; there are {}", all.join(", "))
        })
    };
    names.split(',').map(|name| of(name.trim())).collect()
}

fn shortened(what: &str) -> String {
    what.chars().take(1000).collect()
}

fn run(mut args: Arguments) -> Result<bool> {
    let minutes: Option<f64> = args.opt_value_from_str("--minutes")?;
    let methods: Option<String> = args.opt_value_from_str("--methods")?;
    let program: PathBuf = operation::beside_us()?;
    if let [first, ..] = args.finish().as_slice() {
        bail!("cannot make sense of {first:?}");
    }
    let chosen = chosen(methods.as_deref())?;
    let mut outcomes: Vec<(&str, Outcome)> = Vec::new();
    let mut broken = Vec::new();
    for method in chosen {
        let budget = match minutes {
            Some(minutes) => Budget::lasting(Duration::from_secs_f64(minutes * 60.0)),
            None => Budget::Quick,
        };
        let started = Instant::now();
        eprintln!("{}: {}", method.name, method.about);
        match (method.run)(&program, budget) {
            Ok(outcome) => {
                eprintln!(
                    "{}: {} s, {} breaches",
                    method.name,
                    started.elapsed().as_secs(),
                    outcome.breaches.len()
                );
                // Whoever waits for the other methods can look at these already.
                for (promise, what) in outcome.breaches.iter().take(SHOWN) {
                    eprintln!("BREACH of {promise}: {}", shortened(what));
                }
                outcomes.push((method.name, outcome));
            }
            Err(error) => {
                eprintln!("{}: cannot go on: {error:#}", method.name);
                broken.push(method.name);
            }
        }
    }
    println!("{}", table::render(&outcomes));
    let mut held = broken.is_empty();
    for (name, outcome) in &outcomes {
        for why in &outcome.skipped {
            println!("skipped: {why}");
        }
        for (promise, what) in outcome.breaches.iter().take(SHOWN) {
            println!("BREACH of {promise} ({name}): {}", shortened(what));
        }
        if let Some(more) = outcome.breaches.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            println!("and {more} more of {name}");
        }
        held &= outcome.breaches.is_empty();
    }
    for name in broken {
        println!("NOT RUN: {name} could not go on; see above");
    }
    Ok(held)
}
