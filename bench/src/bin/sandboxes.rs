//! Measures sandboxes beside `cp -a` on one tree, in interleaved rounds, with the ratios that the goals W6 and W7 name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use turnback_bench::churn::Churn;
use turnback_bench::clock::{load_average, measure};
use turnback_bench::limits::{remove, settle_disk};
use turnback_bench::series::Series;
use turnback_bench::stat_walk::StatWalk;
use turnback_bench::tree::TreeSpec;
use turnback_engine::sandbox::{CommitOptions, MechanismChoice};
use turnback_engine::{
    Context, Durability, Manager, OpenOptions, Sandbox, SandboxOptions, Sandboxes, StoreLocation,
};

const HELP: &str = "\
Measures sandboxes beside cp -a, in interleaved rounds (goals W6 and W7).

Usage: sandboxes [--work DIR] [--mechanism M] [--rounds N] [--files N] [--power]

  --work DIR       where tree, copies, sandboxes and the store go; about six times the tree's space
  --mechanism M    copy (default), reflink or btrfs; for btrfs the tree is made in a subvolume
  --rounds N       how many rounds (default 5), after one that warms the caches and does not count
  --files N        how many files to generate (default 20000)
  --power          with durability `power`, as by default; without it syncs are left out
";

/// What is measured, in the order of the table.
#[derive(Default)]
struct Table {
    walk: Series,
    copy: Series,
    create: Series,
    changes: Series,
    walks: Series,
    first_commit: Series,
    commit: Series,
    cleanup: Series,
}

struct Options {
    work: PathBuf,
    mechanism: MechanismChoice,
    rounds: usize,
    spec: TreeSpec,
    durability: Durability,
}

impl Options {
    fn parse() -> Result<Option<Self>> {
        let mut arguments = pico_args::Arguments::from_env();
        if arguments.contains(["-h", "--help"]) {
            return Ok(None);
        }
        let path = |text: &std::ffi::OsStr| Ok::<_, std::convert::Infallible>(PathBuf::from(text));
        let mut spec = TreeSpec::default();
        let this = Self {
            work: arguments.opt_value_from_os_str("--work", path)?.unwrap_or_else(std::env::temp_dir),
            mechanism: arguments.opt_value_from_str("--mechanism")?.unwrap_or(MechanismChoice::Copy),
            rounds: arguments.opt_value_from_str("--rounds")?.unwrap_or(5),
            durability: if arguments.contains("--power") { Durability::Power } else { Durability::Process },
            spec: {
                if let Some(files) = arguments.opt_value_from_str("--files")? {
                    spec.files = files;
                }
                spec
            },
        };
        ensure!(this.rounds >= 3, "--rounds must be 3 at least");
        let rest = arguments.finish();
        ensure!(rest.is_empty(), "these arguments are not understood: {rest:?}\n\n{HELP}");
        Ok(Some(this))
    }
}

struct Rounds {
    work: PathBuf,
    tree: PathBuf,
    mechanism: MechanismChoice,
    durability: Durability,
    walk: StatWalk,
    table: Table,
    edits: u64,
}

impl Rounds {
    fn round(&mut self) -> Result<()> {
        let (work, tree) = (self.work.clone(), self.tree.clone());
        let copy = work.join("copy");
        settle_disk(&work)?;
        self.table.walk.push(measure(|| self.walk.run(&tree))?.0);
        settle_disk(&work)?;
        self.table.copy.push(measure(|| copied(&tree, &copy, self.mechanism))?.0);
        remove(&copy)?;

        // A store of its own for each round: nothing that an earlier one stored helps.
        let store = work.join("store");
        remove(&store)?;
        let manager = Manager::open(OpenOptions {
            store: StoreLocation::Path(store),
            durability: Some(self.durability),
            ..OpenOptions::default()
        })?;
        let sandboxes = Sandboxes::new(&manager);
        let options = SandboxOptions { mechanism: self.mechanism, ..SandboxOptions::new(&tree) };
        let ctx = Context::default();
        settle_disk(&work)?;
        let (cost, sandbox) = measure(|| Ok(sandboxes.create(&options, &ctx)?))?;
        self.table.create.push(cost);
        let path = sandbox.enter(&ctx)?;
        settle_disk(&work)?;
        self.table.changes.push(measure(|| Ok(sandbox.changes(&ctx)?))?.0);
        for nth in 0..2 {
            self.edits += 1;
            Churn::plan(&path)?.edit(self.edits)?;
            settle_disk(&work)?;
            let both = || -> Result<()> {
                self.walk.run(&path)?;
                self.walk.run(&tree)?;
                Ok(())
            };
            let (walks, ()) = measure(both)?;
            settle_disk(&work)?;
            let (cost, ()) = measure(|| committed(&sandbox))?;
            if nth == 0 {
                // The engine has never seen the resource by itself.
                self.table.first_commit.push(cost);
            } else {
                self.table.walks.push(walks);
                self.table.commit.push(cost);
            }
        }
        settle_disk(&work)?;
        self.table.cleanup.push(measure(|| Ok(sandbox.cleanup(false, &ctx)?))?.0);
        Ok(())
    }
}

fn committed(sandbox: &Arc<dyn Sandbox>) -> Result<()> {
    let report = sandbox.commit(&CommitOptions::default(), &Context::default())?;
    ensure!(report.committed && !report.changes.is_empty(), "the commit is not whole: {report:?}");
    Ok(())
}

fn copied(from: &Path, to: &Path, mechanism: MechanismChoice) -> Result<()> {
    let how = if mechanism == MechanismChoice::Copy { "--reflink=never" } else { "--reflink=always" };
    let status = Command::new("cp").args(["-a", how]).arg(from).arg(to).status().context("starting cp")?;
    ensure!(status.success(), "cp -a {how} failed: {status}");
    Ok(())
}

fn line(what: &str, series: &Series) {
    let (Some(median), Some((min, max)), Some(cpu)) = (series.median(), series.range(), series.median_cpu())
    else {
        return;
    };
    let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1_000.0;
    println!(
        "| {what} | {:.1} | {:.1}–{:.1} | {:.1} | {} |",
        ms(median),
        ms(min),
        ms(max),
        ms(cpu),
        series.len()
    );
}

fn goal(name: &str, subject: (&str, &Series), base: (&str, &Series), at_most: f64) {
    let (Some(wall), Some(cpu)) = (subject.1.ratio(base.1), subject.1.cpu_ratio(base.1)) else { return };
    let verdict = if wall <= at_most { "holds" } else { "missed" };
    println!("| {name} | {} | {} | {wall:.2} | {cpu:.2} | ≤ {at_most:.2} | {verdict} |", subject.0, base.0);
}

fn main() -> Result<()> {
    let Some(options) = Options::parse()? else {
        print!("{HELP}");
        return Ok(());
    };
    let work = tempfile::Builder::new()
        .prefix("turnback-sandboxes-")
        .tempdir_in(&options.work)
        .with_context(|| format!("making a directory in {}", options.work.display()))?;
    let place = work.path().canonicalize().context("resolving the working directory")?;
    let tree = place.join("tree");
    if options.mechanism == MechanismChoice::Btrfs {
        let made = Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(&tree).status();
        ensure!(made.context("starting btrfs")?.success(), "the subvolume cannot be made");
    }
    let made = options.spec.generate(&tree)?;
    println!("Generated with seed {}: {made:?}", options.spec.seed);
    let mut rounds = Rounds {
        work: place,
        tree,
        mechanism: options.mechanism,
        durability: options.durability,
        walk: StatWalk::new()?,
        table: Table::default(),
        edits: 0,
    };
    rounds.round()?;
    rounds.table = Table::default();
    let mut loads = vec![load_average()];
    for round in 1..=options.rounds {
        rounds.round()?;
        loads.push(load_average());
        eprintln!("round {round} of {} done", options.rounds);
    }
    println!(
        "Load average before and after each round: {loads:?}; more than the threads: others were at work."
    );
    let table = &rounds.table;
    let mechanism = options.mechanism.as_str();
    let cp = if options.mechanism == MechanismChoice::Copy { "cp -a" } else { "cp -a --reflink" };
    println!("\n| {mechanism}, {:?} | median ms | min–max ms | CPU ms | rounds |", options.durability);
    println!("|---|--:|--:|--:|--:|");
    line("plain stat walk of the resource, 2 threads", &table.walk);
    line(cp, &table.copy);
    line("sandbox", &table.create);
    line("its changes, right after", &table.changes);
    line("walk of the sandbox and walk of the resource", &table.walks);
    line("first commit, 10 changed", &table.first_commit);
    line("commit, 10 changed", &table.commit);
    line("cleanup", &table.cleanup);
    println!("\n| Goal | ratio of | to | wall | CPU | goal | |\n|---|---|---|--:|--:|--:|---|");
    let at_most = if options.mechanism == MechanismChoice::Copy { 0.45 } else { 0.40 };
    goal("W6", ("sandbox", &table.create), (cp, &table.copy), at_most);
    if options.mechanism == MechanismChoice::Btrfs
        && let Some(median) = table.create.median()
    {
        let verdict = if median.as_millis() <= 15 { "holds" } else { "missed" };
        println!("| W6 | sandbox | {:.1} ms | | | ≤ 15 ms | {verdict} |", median.as_secs_f64() * 1_000.0);
    }
    goal("W7", ("first commit", &table.first_commit), ("both walks", &table.walks), 1.25);
    goal("W7", ("commit", &table.commit), ("both walks", &table.walks), 1.25);
    Ok(())
}
