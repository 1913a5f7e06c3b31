//! The table and the ratios that the goals name.

use std::time::Duration;

use turnback_bench::series::Series;

use crate::row::{Row, Table};

fn ms(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1_000.0)
}

/// Prints all measurements as a Markdown table.
pub(crate) fn print_table(table: &Table) {
    println!("| What | median ms | min–max ms | CPU ms | rounds |");
    println!("|---|--:|--:|--:|--:|");
    for (row, series) in table.iter() {
        let (Some(median), Some((min, max)), Some(cpu)) =
            (series.median(), series.range(), series.median_cpu())
        else {
            continue;
        };
        println!(
            "| {} | {} | {}–{} | {} | {} |",
            row.label(),
            ms(median),
            ms(min),
            ms(max),
            ms(cpu),
            series.len()
        );
    }
}

struct Goal {
    name: &'static str,
    subject: Row,
    base: Row,
    at_most: f64,
}

const GOALS: [Goal; 8] = [
    Goal { name: "W1", subject: Row::Unchanged, base: Row::Walk, at_most: 0.90 },
    Goal { name: "W1", subject: Row::Unchanged, base: Row::GitUnchanged, at_most: 0.35 },
    Goal { name: "W1", subject: Row::UnchangedNotIgnored, base: Row::GitUnchangedNotIgnored, at_most: 0.60 },
    Goal { name: "W2", subject: Row::Ten, base: Row::Walk, at_most: 1.05 },
    Goal { name: "W3", subject: Row::First, base: Row::CopyAll, at_most: 0.45 },
    Goal { name: "W4", subject: Row::RollbackTen, base: Row::Walk, at_most: 1.35 },
    Goal { name: "W4", subject: Row::RollbackHalf, base: Row::GitRestoreHalf, at_most: 0.25 },
    Goal { name: "W4", subject: Row::RollbackHalf, base: Row::CreateHalf, at_most: 1.30 },
];

/// Prints the ratios of medians beside their goals.
pub(crate) fn print_ratios(table: &Table, raw_bytes: u64, store_bytes: u64) {
    println!("| Goal | ratio of | to | wall | CPU | goal | |");
    println!("|---|---|---|--:|--:|--:|---|");
    for goal in &GOALS {
        let (Some(subject), Some(base)) = (table.get(goal.subject), table.get(goal.base)) else { continue };
        let (Some(wall), Some(cpu)) = (subject.ratio(base), subject.cpu_ratio(base)) else { continue };
        println!(
            "| {} | {} | {} | {wall:.2} | {cpu:.2} | ≤ {:.2} | {} |",
            goal.name,
            goal.subject.label(),
            goal.base.label(),
            goal.at_most,
            verdict(wall <= goal.at_most)
        );
    }
    #[allow(clippy::cast_precision_loss, reason = "a ratio for people")]
    let share = store_bytes as f64 / raw_bytes.max(1) as f64;
    println!(
        "| W3 | bytes of the store | bytes of the tree | {share:.2} | | ≤ 0.45 | {} |",
        verdict(share <= 0.45)
    );
    print_syncs(table);
}

fn print_syncs(table: &Table) {
    for (name, power, process) in
        [("W1", Row::UnchangedPower, Row::Unchanged), ("W2", Row::TenPower, Row::Ten)]
    {
        if let Some(extra) = extra(table.get(power), table.get(process)) {
            println!(
                "| {name} | {} | the same without syncs | + {} ms | | ≤ 10 ms | {} |",
                power.label(),
                ms(extra),
                verdict(extra <= Duration::from_millis(10))
            );
        }
    }
    let one = table.get(Row::SyncOneFile).and_then(Series::median);
    let first = extra(table.get(Row::FirstPower), table.get(Row::First));
    if let (Some(extra), Some(one)) = (first, one.filter(|one| !one.is_zero())) {
        let ratio = extra.as_secs_f64() / one.as_secs_f64();
        println!(
            "| W3 | what syncs add to the first checkpoint | {} | {ratio:.2} | | ≤ 1.20 | {} |",
            Row::SyncOneFile.label(),
            verdict(ratio <= 1.2)
        );
    }
}

fn extra(power: Option<&Series>, process: Option<&Series>) -> Option<Duration> {
    Some(power?.median()?.saturating_sub(process?.median()?))
}

const fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "missed" }
}
