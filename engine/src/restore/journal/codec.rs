//! The bytes of a plan: every directory and every item, each with its state before and after.

use super::head::{flag, timestamp};
use crate::model::{
    DecodeError, Decoder, Encoder, Entry, Meta, Reason, RelPath, Uncovered, check_name, decode_entry,
    encode_entry,
};
use crate::restore::plan::{Act, DirWork, Item, Plan, Role, State};

/// The bytes of a plan.
pub(crate) fn encode_plan(plan: &Plan) -> Vec<u8> {
    let mut e = Encoder::default();
    e.byte(u8::from(plan.fresh));
    e.byte(u8::from(plan.head_moved()));
    e.varint(plan.dirs.len() as u64);
    plan.dirs.iter().for_each(|dir| encode_dir(&mut e, dir));
    e.varint(plan.items.len() as u64);
    plan.items.iter().for_each(|item| encode_item(&mut e, item));
    for list in [plan.kept(), plan.not_restorable()] {
        e.varint(list.len() as u64);
        for listed in list {
            e.byte(listed.reason.to_byte());
            e.bytes(listed.path.as_bytes());
            e.byte(u8::from(listed.detail.is_some()));
            listed.detail.iter().for_each(|detail| e.bytes(detail.as_bytes()));
        }
    }
    e.into_bytes()
}

/// Reads a plan.
pub(super) fn decode_plan(bytes: &[u8]) -> Result<Plan, DecodeError> {
    let mut d = Decoder::new(bytes);
    let fresh = flag(&mut d)?;
    let head_moved = flag(&mut d)?;
    let count = d.count()?;
    let mut dirs: Vec<DirWork> = Vec::new();
    for number in 0..count {
        dirs.push(decode_dir(&mut d, number)?);
    }
    if dirs.is_empty() {
        return Err(DecodeError::Invalid);
    }
    let count = d.count()?;
    let mut items: Vec<Item> = Vec::new();
    for _ in 0..count {
        let item = decode_item(&mut d, dirs.len())?;
        if items.last().is_some_and(|last| (last.dir, &last.name) > (item.dir, &item.name)) {
            return Err(DecodeError::Invalid);
        }
        items.push(item);
    }
    let kept = decode_list(&mut d)?;
    let not_restorable = decode_list(&mut d)?;
    d.end()?;
    Ok(Plan::of_parts(dirs, items, fresh, kept, not_restorable, head_moved))
}

fn decode_list(d: &mut Decoder<'_>) -> Result<Vec<Uncovered>, DecodeError> {
    let count = d.count()?;
    let mut list = Vec::new();
    for _ in 0..count {
        let reason = Reason::from_byte(d.byte()?).ok_or(DecodeError::Invalid)?;
        let path = RelPath::parse(d.bytes()?).map_err(|_| DecodeError::Invalid)?;
        let detail = if flag(d)? {
            let text = std::str::from_utf8(d.bytes()?).map_err(|_| DecodeError::Invalid)?;
            Some(text.to_owned())
        } else {
            None
        };
        list.push(Uncovered { path, reason, detail });
    }
    Ok(list)
}

const KEEP: u8 = 0;
const CREATE: u8 = 1;
const CREATE_IN_PLACE: u8 = 2;
const DELETE: u8 = 3;

fn encode_dir(e: &mut Encoder, dir: &DirWork) {
    // The root's parent is written as zero: no other directory comes without one.
    e.varint(dir.parent.map_or(0, |parent| parent as u64));
    e.bytes(&dir.name);
    e.byte(u8::from(dir.unlock));
    e.byte(u8::from(dir.then));
    match &dir.role {
        Role::Keep { before, after } => {
            e.byte(KEEP);
            encode_meta(e, before);
            encode_meta(e, after);
        }
        Role::Create { after, replaces: None } => {
            e.byte(CREATE);
            encode_meta(e, after);
        }
        Role::Create { after, replaces: Some(state) } => {
            e.byte(CREATE_IN_PLACE);
            encode_meta(e, after);
            encode_state(e, &dir.name, state);
        }
        Role::Delete { before } => {
            e.byte(DELETE);
            encode_meta(e, before);
        }
    }
}

fn decode_dir(d: &mut Decoder<'_>, number: usize) -> Result<DirWork, DecodeError> {
    let parent = index(d, number.max(1))?;
    let name: Box<[u8]> = d.bytes()?.into();
    let parent = match number {
        0 if name.is_empty() && parent == 0 => None,
        0 => return Err(DecodeError::Invalid),
        _ => {
            check_name(&name).map_err(|_| DecodeError::Invalid)?;
            Some(parent)
        }
    };
    let unlock = flag(d)?;
    let then = flag(d)?;
    let role = match d.byte()? {
        KEEP => Role::Keep { before: decode_meta(d)?, after: decode_meta(d)? },
        CREATE if number > 0 => Role::Create { after: decode_meta(d)?, replaces: None },
        CREATE_IN_PLACE if number > 0 => {
            let after = decode_meta(d)?;
            Role::Create { after, replaces: Some(decode_state(d, &name)?) }
        }
        DELETE if number > 0 => Role::Delete { before: decode_meta(d)? },
        _ => return Err(DecodeError::Invalid),
    };
    Ok(DirWork { parent, name, role, unlock, then, items: 0..0 })
}

const HAS_BEFORE: u8 = 1;
const HAS_AFTER: u8 = 2;
const HAS_LINK: u8 = 4;
const FRESH: u8 = 8;
const HAS_DIRECTORY: u8 = 16;
const UNLOCK: u8 = 32;

fn encode_item(e: &mut Encoder, item: &Item) {
    let bits = [
        (item.before.is_some(), HAS_BEFORE),
        (item.after.is_some(), HAS_AFTER),
        (item.link.is_some(), HAS_LINK),
        (item.fresh, FRESH),
        (item.replaces_dir.is_some(), HAS_DIRECTORY),
        (item.unlock, UNLOCK),
    ];
    e.byte(bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum());
    e.byte(item.act as u8);
    e.varint(item.dir as u64);
    e.bytes(&item.name);
    item.before.iter().chain(&item.after).for_each(|state| encode_state(e, &item.name, state));
    item.link.iter().chain(&item.replaces_dir).for_each(|number| e.varint(*number as u64));
}

fn decode_item(d: &mut Decoder<'_>, dirs: usize) -> Result<Item, DecodeError> {
    let bits = d.byte()?;
    if bits >= UNLOCK << 1 {
        return Err(DecodeError::Invalid);
    }
    let has = |bit: u8| bits & bit != 0;
    let act = match d.byte()? {
        0 => Act::Create,
        1 => Act::Replace,
        2 => Act::Delete,
        3 => Act::Metadata,
        4 => Act::Relink,
        _ => return Err(DecodeError::Invalid),
    };
    let dir = index(d, dirs)?;
    let name: Box<[u8]> = d.bytes()?.into();
    check_name(&name).map_err(|_| DecodeError::Invalid)?;
    let before = if has(HAS_BEFORE) { Some(decode_state(d, &name)?) } else { None };
    let after = if has(HAS_AFTER) { Some(decode_state(d, &name)?) } else { None };
    let link = if has(HAS_LINK) { Some(index(d, usize::MAX)?) } else { None };
    let replaces_dir = if has(HAS_DIRECTORY) { Some(index(d, dirs)?) } else { None };
    let sound = match act {
        Act::Create => after.is_some(),
        Act::Delete => before.is_some() && after.is_none(),
        Act::Replace | Act::Metadata | Act::Relink => before.is_some() && after.is_some(),
    };
    if !sound {
        return Err(DecodeError::Invalid);
    }
    Ok(Item { dir, name, before, after, act, link, fresh: has(FRESH), replaces_dir, unlock: has(UNLOCK) })
}

fn index(d: &mut Decoder<'_>, limit: usize) -> Result<usize, DecodeError> {
    let number = usize::try_from(d.varint()?).map_err(|_| DecodeError::Invalid)?;
    if number < limit { Ok(number) } else { Err(DecodeError::Invalid) }
}

fn encode_state(e: &mut Encoder, name: &[u8], state: &State) {
    encode_entry(e, &Entry { name: name.into(), meta: state.meta.clone(), node: state.node.clone() });
}

fn decode_state(d: &mut Decoder<'_>, name: &[u8]) -> Result<State, DecodeError> {
    let Entry { name: own, meta, node } = decode_entry(d)?;
    if *own == *name { Ok(State { meta, node }) } else { Err(DecodeError::Invalid) }
}

fn encode_meta(e: &mut Encoder, meta: &Meta) {
    e.varint(u64::from(meta.mode));
    e.varint(u64::from(meta.uid));
    e.varint(u64::from(meta.gid));
    e.signed(meta.mtime.sec);
    e.varint(u64::from(meta.mtime.nsec));
    e.byte(u8::from(meta.xattrs.is_some()));
    meta.xattrs.iter().for_each(|hash| e.raw(&hash.0));
}

fn decode_meta(d: &mut Decoder<'_>) -> Result<Meta, DecodeError> {
    fn narrow<T: TryFrom<u64>>(d: &mut Decoder<'_>) -> Result<T, DecodeError> {
        T::try_from(d.varint()?).map_err(|_| DecodeError::Invalid)
    }
    let mode: u16 = narrow(d)?;
    if mode > 0o7777 {
        return Err(DecodeError::Invalid);
    }
    let (uid, gid) = (narrow(d)?, narrow(d)?);
    let mtime = timestamp(d)?;
    let xattrs = if flag(d)? { Some(d.hash()?) } else { None };
    Ok(Meta { mode, uid, gid, mtime, xattrs })
}
