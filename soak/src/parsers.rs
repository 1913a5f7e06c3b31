//! Bytes of any kind, handed to everything that reads the store (P15, inputs 9, 26, 27, 34, 42, 46): no panic, and no allocation that
//! the bytes do not justify. The fuzz targets in `fuzz/` and [`crate::methods::mutate`] both call these.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Context as _, Result, ensure};
use peak_alloc::PeakAlloc;
use turnback_engine::model::{
    Decoder, Encoder, Hash, LinkGroups, Objects, Xattrs, decode_entry, decode_segments, decode_uncovered,
    encode_entry, encode_segments, encode_uncovered,
};
use turnback_engine::restore::journal;
use turnback_engine::store::{Layout, Marks, PackSet, Record, seal, unseal};
use turnback_engine::{Context, Durability};

use crate::machine;
use crate::scene::{Scene, exact, open};

/// Counts what is allocated, so that a length that is believed before it is checked shows.
#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// What a reader may allocate whatever it is given, and for each byte that it is given.
const FREE: usize = 8 << 20;
const PER_BYTE: usize = 256;

/// A store whose packs are written byte by byte.
#[derive(Debug)]
pub struct Parsers {
    directory: tempfile::TempDir,
    layout: Layout,
}

/// What is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Entries, hard-link groups, attributes, segments, uncovered paths, straight from their bytes.
    Codecs,
    /// The object of a directory, read through the store.
    Manifest,
    /// A checkpoint's record and its marks: the JSON text, sealed and as it is.
    Record,
    /// The index of a pack.
    Index,
    /// A pack without an index.
    Pack,
    /// The journal of an interrupted restore.
    Journal,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Codecs, Self::Manifest, Self::Record, Self::Index, Self::Pack, Self::Journal];
}

const NAME: &str = "01J00000000000000000000000";

impl Parsers {
    /// Makes the store.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<Self> {
        let directory = machine::quick_directory()?;
        let store = directory.path().join("s");
        drop(open(&store, Durability::Process)?);
        let layout = Layout::new(fs::canonicalize(store)?);
        Ok(Self { directory, layout })
    }

    /// Parses bytes as one kind.
    ///
    /// # Errors
    /// When too much was allocated, or what was read does not give the same bytes again.
    ///
    /// # Panics
    /// When the engine does: that is what is looked for.
    pub fn parse(&self, kind: Kind, data: &[u8]) -> Result<()> {
        ALLOCATED.reset_peak_usage();
        let before = ALLOCATED.current_usage();
        match kind {
            Kind::Codecs => codecs(data)?,
            Kind::Manifest => self.manifest(data)?,
            Kind::Record => record(data)?,
            Kind::Index => {
                self.index(data)?;
                self.index(&repaired(data))?;
            }
            Kind::Pack => self.pack(data)?,
            Kind::Journal => {
                let _refused = journal::decode(data);
                let _refused = journal::decode(&sealed_journal(data));
            }
        }
        let peak = ALLOCATED.peak_usage().saturating_sub(before);
        ensure!(peak < FREE + PER_BYTE * data.len(), "{peak} bytes were allocated for {}", data.len());
        Ok(())
    }

    fn write(&self, pack: &[u8], index: Option<&[u8]>) -> Result<PackSet> {
        let base: PathBuf = self.layout.packs().join(NAME);
        fs::write(base.with_extension("pack"), pack)?;
        match index {
            Some(index) => fs::write(base.with_extension("index"), index)?,
            None => drop(fs::remove_file(base.with_extension("index"))),
        }
        let packs = PackSet::new(self.layout.clone());
        // A refusal is as right as an answer; a panic or a flood of memory is not.
        let _refused = packs.refresh();
        Ok(packs)
    }

    fn manifest(&self, data: &[u8]) -> Result<()> {
        let packs = self.write(&pack_of(&[data]), None)?;
        if let Ok(entries) = packs.directory(Hash::of(data)) {
            ensure!(entries.is_sorted_by(|a, b| a.name < b.name), "names that are not sorted");
            for entry in entries {
                let name = &entry.name;
                ensure!(
                    !name.is_empty() && name.len() < 256 && !name.contains(&b'/') && !name.contains(&0),
                    "the name {name:?}"
                );
                ensure!(**name != *b"." && **name != *b"..", "the name {name:?}");
            }
        }
        Ok(())
    }

    fn index(&self, data: &[u8]) -> Result<()> {
        let body = b"body of an object".repeat(9);
        let packs = self.write(&pack_of(&[&body]), Some(data))?;
        let named = data.chunks(48).filter_map(|c| c.first_chunk::<32>()).take(8).map(|c| Hash(*c));
        for hash in named.chain([Hash::of(&body)]) {
            let _there = packs.contains(&hash);
            if let Ok(bytes) = packs.read(hash, 1 << 20) {
                ensure!(Hash::of(&bytes) == hash, "an object that is not what its hash says");
            }
        }
        let manager = open(&self.directory.path().join("s"), Durability::Process)?;
        let _refused = manager.verify(None, &Context::default());
        Ok(())
    }

    fn pack(&self, data: &[u8]) -> Result<()> {
        let packs = self.write(data, None)?;
        for at in (8..data.len().min(4096)).step_by(17) {
            if let Some(hash) = data.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
                let hash = Hash(*hash);
                if let Ok(bytes) = packs.read(hash, 1 << 20) {
                    ensure!(Hash::of(&bytes) == hash, "an object that is not what its hash says");
                }
            }
        }
        let manager = open(&self.directory.path().join("s"), Durability::Process)?;
        let _refused = manager.verify(None, &Context::default());
        Ok(())
    }
}

/// For fuzzers: parses, and fails by a panic.
///
/// # Panics
/// When the engine does, or what [`Parsers::parse`] finds.
#[allow(clippy::expect_used, reason = "a fuzz target fails by a panic")]
pub fn fuzz(kind: Kind, data: &[u8]) {
    static PARSERS: OnceLock<Parsers> = OnceLock::new();
    let parsers = PARSERS.get_or_init(|| Parsers::new().expect("a store"));
    parsers.parse(kind, data).expect("bytes that are refused or read");
}

/// A journal whose lengths and hashes are right whatever else it says.
#[must_use]
pub fn sealed_journal(data: &[u8]) -> Vec<u8> {
    const PREFIX: usize = 88;
    let Some(rest) = data.get(PREFIX..) else { return data.to_vec() };
    let head = data[8..].first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b));
    let (head, plan) = rest.split_at((head as usize).min(rest.len()));
    let mut bytes = b"TBJRNL\0\x01".to_vec();
    bytes.extend_from_slice(&(head.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(plan.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&Hash::of(head).0);
    bytes.extend_from_slice(&Hash::of(plan).0);
    bytes.extend_from_slice(rest);
    bytes
}

/// The journal of a rollback that is under way, with the workspace as it was before.
///
/// # Errors
/// When there is none to be seen.
pub fn journal_of(scene: &Scene) -> Result<(PathBuf, Vec<u8>)> {
    let manager = scene.open()?;
    let sandbox = manager.sandbox_id_of(&scene.root())?;
    let path = scene.store().join("workspaces").join(sandbox.as_str()).join("journal");
    let (seen, from) = (Arc::new(Mutex::new(None)), path.clone());
    let keep = seen.clone();
    let on_progress = move |_| {
        if let (Ok(bytes), Ok(mut seen)) = (fs::read(&from), keep.lock()) {
            seen.get_or_insert(bytes);
        }
    };
    let ctx = Context { on_progress: Some(Arc::new(on_progress)), ..Context::default() };
    manager.rollback(scene.base, exact(), &ctx)?;
    let bytes = seen.lock().ok().and_then(|mut seen| seen.take());
    Ok((path, bytes.context("no progress was told while there was a journal")?))
}

fn codecs(data: &[u8]) -> Result<()> {
    let mut decoder = Decoder::new(data);
    if let Ok(entry) = decode_entry(&mut decoder)
        && decoder.end().is_ok()
    {
        let mut encoder = Encoder::default();
        encode_entry(&mut encoder, &entry);
        ensure!(encoder.as_bytes() == data, "an entry has two spellings");
    }
    if let Ok(groups) = LinkGroups::decode(data) {
        ensure!(groups.encode() == data, "link groups have two spellings");
    }
    if let Ok(xattrs) = Xattrs::decode(data) {
        ensure!(xattrs.encode() == data, "attributes have two spellings");
    }
    for size in [0, 1, 1 << 20, 8 << 40, u64::MAX] {
        if let Ok(segments) = decode_segments(data, size) {
            ensure!(encode_segments(&segments) == data, "segments have two spellings");
        }
    }
    if let Ok(list) = decode_uncovered(data) {
        ensure!(encode_uncovered(&list) == data, "uncovered paths have two spellings");
    }
    Ok(())
}

fn record(data: &[u8]) -> Result<()> {
    let _refused = unseal::<Record>(data).map(|record| record.parse());
    let _refused = unseal::<Marks>(data);
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(data) {
        let sealed = seal(&value)?;
        if let Ok(record) = unseal::<Record>(&sealed) {
            let _refused = record.parse();
        }
        let _refused = unseal::<Marks>(&sealed);
    }
    Ok(())
}

/// A pack of uncompressed objects.
#[must_use]
pub fn pack_of(objects: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"TBPACK\0\x01".to_vec();
    for object in objects {
        let length = (object.len() as u32).to_le_bytes();
        bytes.extend_from_slice(&length);
        bytes.extend_from_slice(&length);
        bytes.extend_from_slice(&Hash::of(object).0);
        bytes.extend_from_slice(&crc32fast::hash(object).to_le_bytes());
        bytes.extend_from_slice(object);
    }
    bytes
}

/// An index whose checksums are right whatever else it says: damage that only somebody who writes to the store on purpose can do.
#[must_use]
pub fn repaired(data: &[u8]) -> Vec<u8> {
    const HEADER: usize = 24;
    const ENTRY: usize = 48;
    let mut bytes = data.to_vec();
    let Some(bits) = bytes.get(8..12).and_then(|b| b.first_chunk::<4>()).map(|b| u32::from_le_bytes(*b) % 4)
    else {
        return bytes;
    };
    let buckets = 1usize << bits;
    let body = HEADER + buckets * 8;
    if bytes.len() < body {
        return bytes;
    }
    bytes[..8].copy_from_slice(b"TBINDX\0\x01");
    bytes[8..12].copy_from_slice(&bits.to_le_bytes());
    let count = (bytes.len() - body) / ENTRY;
    bytes.truncate(body + count * ENTRY);
    bytes[12..20].copy_from_slice(&(count as u64).to_le_bytes());
    let mut start = 0;
    for bucket in 0..buckets {
        let at = HEADER + bucket * 8;
        let end = bytes[at..].first_chunk::<4>().map_or(0, |b| u32::from_le_bytes(*b)) as usize;
        let range = body + start * ENTRY..body.saturating_add(end.saturating_mul(ENTRY));
        let crc = crc32fast::hash(bytes.get(range).unwrap_or_default());
        bytes[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
        start = end;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..20]);
    crc.update(&bytes[HEADER..body]);
    bytes[20..24].copy_from_slice(&crc.finalize().to_le_bytes());
    bytes
}

/// Real bytes of each kind, from a store with two checkpoints: what mutations start from.
///
/// # Errors
/// When the store cannot be made.
pub fn samples(kind: Kind) -> Result<Vec<Vec<u8>>> {
    let directory = machine::quick_directory()?;
    let scene = Scene::new(directory.path())?;
    crate::tree::edit(&scene.root(), 1)?;
    let manager = scene.open()?;
    scene.create(&manager)?;
    manager.set_label(scene.base, Some("a name"))?;
    let file =
        |name: &str| fs::read(scene.store().join("checkpoints").join(scene.base.to_string()).join(name));
    let json = |name: &str| -> Result<Vec<u8>> {
        let bytes = file(name)?;
        Ok(bytes.split(|b| *b == b'\n').next().context("a line")?.to_vec())
    };
    let pack = file("objects.pack")?;
    Ok(match kind {
        Kind::Record => vec![json("record")?, json("marks")?, file("record")?],
        Kind::Index => vec![file("objects.index")?],
        Kind::Journal => vec![journal_of(&scene)?.1],
        Kind::Pack => vec![pack_of(&[b"one", b"two", &[7; 900]]), pack],
        Kind::Codecs | Kind::Manifest => {
            // The small objects of the pack: manifests, segments, attributes, groups.
            let (mut at, mut found) = (8, Vec::new());
            while let Some(header) = pack.get(at..at + 44) {
                let word = |i: usize| header[i..].first_chunk::<4>().map_or(0, |b| u32::from_le_bytes(*b));
                let (stored, raw) = (word(0) as usize, word(4));
                if stored < 2000 && stored == raw as usize {
                    found.extend(pack.get(at + 44..at + 44 + stored).map(<[u8]>::to_vec));
                }
                at += 44 + stored;
            }
            if kind == Kind::Codecs {
                // An entry begins behind a manifest's form and count.
                let entries: Vec<_> = found.iter().filter_map(|m| m.get(2..)).map(<[u8]>::to_vec).collect();
                found.extend(entries);
            }
            found
        }
    })
}
