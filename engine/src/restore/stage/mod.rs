//! Staging: everything that a rollback will put into the workspace is made beforehand, complete with its metadata, so that the
//! workspace is first touched when nothing more can go wrong for want of space or of an object (C8).

mod area;
mod build;
mod check;
mod fold;
mod leaf;

pub(super) use area::Area;
pub(crate) use area::{remove_beneath, sweep};
pub(crate) use build::needs_area;
pub(super) use build::{SYNC_SINGLY, Slot, Staged, build};
pub(super) use check::check_space;
pub(super) use leaf::{Source, wanted_xattrs};
