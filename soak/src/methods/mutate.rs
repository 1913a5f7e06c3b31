//! Mutations of real bytes for every parser of the store (P15): the part of fuzzing that runs everywhere, with a stable compiler.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Result, ensure};

use crate::budget::Budget;
use crate::outcome::Outcome;
use crate::parsers::{Kind, Parsers, samples};

/// Numbers that lengths and counts like least.
const AWKWARD: [u64; 9] = [0, 1, 0x7f, 0x80, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 63, u64::MAX];

/// The whole method.
///
/// # Errors
/// When the harness fails.
pub fn run(_: &Path, budget: Budget) -> Result<Outcome> {
    let mut out = Outcome::default();
    let parsers = Parsers::new()?;
    for (i, kind) in Kind::ALL.into_iter().enumerate() {
        let part = budget.share((Kind::ALL.len() - i) as u32);
        let least = if matches!(kind, Kind::Codecs | Kind::Record | Kind::Journal) { 20_000 } else { 2_000 };
        let samples = samples(kind)?;
        ensure!(!samples.is_empty(), "{kind:?}: there is nothing to mutate");
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ i as u64);
        let mut done = 0u64;
        while part.more(done, least) && !out.is_hopeless() {
            let data = random.mutated(&samples);
            match catch_unwind(AssertUnwindSafe(|| parsers.parse(kind, &data))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => out.breach(15, format!("{kind:?}: {error:#}: {}", hex(&data))),
                Err(_) => out.breach(15, format!("{kind:?}: a panic: {}", hex(&data))),
            }
            done += 1;
        }
        out.figure(15, format!("mutated bytes for {kind:?}"), format!("{done} inputs"));
        out.end_group();
    }
    Ok(out)
}

fn hex(data: &[u8]) -> String {
    crate::operation::to_hex(&data[..data.len().min(300)])
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end.max(1)
    }

    /// One to eight mutations of a sample; now and then of a splice of two, and of nothing but noise.
    fn mutated(&mut self, samples: &[Vec<u8>]) -> Vec<u8> {
        let mut data = samples[self.below(samples.len())].clone();
        if self.below(8) == 0 {
            let other = &samples[self.below(samples.len())];
            let cut = self.below(data.len());
            data.truncate(cut);
            data.extend_from_slice(&other[self.below(other.len())..]);
        }
        if self.below(50) == 0 {
            data = crate::tree::noise(self.next(), self.below(300));
        }
        for _ in 0..1 + self.below(8) {
            self.mutate(&mut data);
        }
        data
    }

    fn mutate(&mut self, data: &mut Vec<u8>) {
        let at = self.below(data.len());
        let number = AWKWARD[self.below(AWKWARD.len())];
        match self.below(7) {
            0 if !data.is_empty() => data[at] ^= 1 << self.below(8),
            1 if !data.is_empty() => data[at] = self.next() as u8,
            2 => {
                let width = [1, 2, 4, 8][self.below(4)];
                for (byte, new) in data.iter_mut().skip(at).zip(number.to_le_bytes()).take(width) {
                    *byte = new;
                }
            }
            3 => {
                // As a varint, in place of one byte.
                let mut encoder = turnback_engine::model::Encoder::default();
                encoder.varint(number);
                let end = (at + 1).min(data.len());
                data.splice(at..end, encoder.into_bytes());
            }
            4 => data.truncate(at),
            5 => {
                let byte = self.next() as u8;
                data.insert(at, byte);
            }
            _ if !data.is_empty() => {
                // A piece twice.
                let end = (at + 1 + self.below(60)).min(data.len());
                let piece = data[at..end].to_vec();
                data.splice(at..at, piece);
            }
            _ => {}
        }
    }
}
