//! Wall time and processor time of a piece of work.

use std::time::{Duration, Instant};

use anyhow::Result;

/// What a piece of work took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// By the wall clock.
    pub wall: Duration,
    /// Processor time, in user space and in the kernel, of this process and of its children that have ended. Says more than `wall`
    /// on a machine that others use too.
    pub cpu: Duration,
}

/// Measures a piece of work. Nothing else may run in this process meanwhile.
///
/// # Errors
/// Those of the work.
pub fn measure<T>(work: impl FnOnce() -> Result<T>) -> Result<(Cost, T)> {
    let cpu = cpu_time();
    let started = Instant::now();
    let value = work()?;
    let wall = started.elapsed();
    Ok((Cost { wall, cpu: cpu_time().saturating_sub(cpu) }, value))
}

fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let own = clock_gettime(ClockId::ProcessCPUTime);
    let nanos = u64::try_from(own.tv_nsec).unwrap_or_default();
    let own =
        Duration::from_secs(u64::try_from(own.tv_sec).unwrap_or_default()) + Duration::from_nanos(nanos);
    own + children_time()
}

/// User and system time of the children that have ended, in the kernel's clock ticks.
fn children_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the name in parentheses and may hold anything; cutime and cstime are the 14th and 15th after it.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after.split_whitespace().skip(13).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks * 1_000 / per_second)
}

/// The machine's load average of the last minute; `None` where the system does not tell.
#[must_use]
pub fn load_average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}
