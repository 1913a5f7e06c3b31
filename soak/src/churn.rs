//! What each process of a crowd does: edits, creates, rolls back and deletes in a workspace, and checks what it finds.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use turnback_core::CheckpointId;
use turnback_engine::{Code, Context, Manager};

use crate::scene::{create_request, exact};
use crate::tree::noise;

/// How one process churns.
#[derive(Debug, Clone, Copy)]
pub struct Churn {
    /// Where its choices start.
    pub seed: u64,
    /// How many operations it does.
    pub rounds: u64,
    /// Another process works in the same workspace.
    pub shared: bool,
}

impl Churn {
    /// Does the work and returns the lines to print: `created N`, `rolled N`, `deleted N`, `busy N`, `kept ID STAMP` for each
    /// checkpoint that is its own and was not deleted, and `wrong …` for each breach.
    ///
    /// # Errors
    /// On any error of the engine but `BUSY`.
    pub fn run(self, manager: &Manager, workspace: &Path) -> Result<Vec<String>> {
        let ctx = Context::default();
        let mut mine: Vec<(CheckpointId, String)> = Vec::new();
        let (mut created, mut rolled, mut deleted, mut busy) = (0u64, 0u64, 0u64, 0u64);
        let mut lines = Vec::new();
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for round in 0..self.rounds {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let choice = (state >> 20) as usize;
            // Content that several processes share, and content of its own: what one deletes, another may need.
            let stamp = format!("{}-{round}", self.seed);
            if !self.shared {
                fs::write(workspace.join("stamp"), &stamp)?;
            }
            fs::write(workspace.join(format!("common{}", choice % 3)), noise(choice as u64 % 5, 4000))?;
            let outcome = match choice % 5 {
                0 | 1 => {
                    let request = create_request().context("a request")?;
                    manager.create(workspace, request, &ctx).map(|made| {
                        created += 1;
                        mine.push((made.checkpoint_id, stamp.clone()));
                    })
                }
                2 | 3 if !mine.is_empty() => {
                    let (id, stamp) = &mine[choice / 8 % mine.len()];
                    manager.rollback(*id, exact(), &ctx).map(|_| {
                        rolled += 1;
                        let now = fs::read_to_string(workspace.join("stamp")).unwrap_or_default();
                        if !self.shared && now != *stamp {
                            lines.push(format!("wrong {id} has `{now}` for `{stamp}`"));
                        }
                    })
                }
                _ if !mine.is_empty() => {
                    let (id, _) = mine[choice / 8 % mine.len()];
                    manager.delete(id).map(|_| {
                        deleted += 1;
                        mine.retain(|(other, _)| *other != id);
                    })
                }
                _ => Ok(()),
            };
            match outcome {
                Ok(()) => {}
                Err(error) if error.code() == Code::Busy => busy += 1,
                Err(error) => {
                    return Err(error).with_context(|| format!("operation {} of round {round}", choice % 5));
                }
            }
        }
        lines.extend(mine.iter().map(|(id, stamp)| format!("kept {id} {stamp}")));
        let counts = [("created", created), ("rolled", rolled), ("deleted", deleted), ("busy", busy)];
        lines.extend(counts.iter().map(|(name, count)| format!("{name} {count}")));
        Ok(lines)
    }
}
