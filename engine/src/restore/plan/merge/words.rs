//! The two sides of a conflict in words.

use crate::model::{Entry, Meta, Node, escape};

/// Says what a side has. Where type and content are the same as on the other side, it says what is not.
pub(super) fn words(of: Option<&Entry>, other: Option<&Entry>) -> String {
    let Some(entry) = of else { return "nothing".to_owned() };
    let mut text = match &entry.node {
        Node::File { size: 1, .. } => "a file of 1 byte".to_owned(),
        Node::File { size, .. } => format!("a file of {size} bytes"),
        Node::Directory { .. } => "a directory".to_owned(),
        Node::Symlink { target } => format!("a link to `{}`", escape(target)),
        Node::Fifo => "a named pipe".to_owned(),
        Node::Uncovered { reason, .. } => format!("something that is not covered ({})", reason.as_str()),
    };
    if let Some(other) = other.filter(|other| other.node.kind() == entry.node.kind()) {
        for difference in differences(&entry.meta, &other.meta) {
            text.push_str(", ");
            text.push_str(&difference);
        }
        if let (Node::File { size: a, content: x, .. }, Node::File { size: b, content: y, .. }) =
            (&entry.node, &other.node)
            && a == b
            && x != y
        {
            text.push_str(", other bytes");
        }
    }
    text
}

fn differences(meta: &Meta, other: &Meta) -> Vec<String> {
    let mut found = Vec::new();
    if meta.mode != other.mode {
        found.push(format!("mode {:04o}", meta.mode));
    }
    if (meta.uid, meta.gid) != (other.uid, other.gid) {
        found.push(format!("owner {}:{}", meta.uid, meta.gid));
    }
    match (meta.xattrs, other.xattrs) {
        (None, Some(_)) => found.push("no attributes".to_owned()),
        (mine, theirs) if mine != theirs => found.push("other attributes".to_owned()),
        _ => {}
    }
    found
}
