//! What differs between two texts, line by line, for people to read.

use git2::{DiffOptions, Patch};

use crate::error::{Code, Error, Result};

/// What stands where a text ends without a line end.
const NO_LINE_END: &[u8] = b"\\ No newline at end of file\n";

/// The hunks of a unified diff of two texts, without the names of files: each line begins with `@`, a blank, `+`, `-` or `\`, and what
/// follows are the texts' own bytes, whatever they are. Empty when the texts are equal; `None` when one of them is no text, because it
/// holds a NUL.
///
/// `context_lines` is how many equal lines are shown around each change. Nothing is read besides the two texts: no configuration and no
/// attributes, so that nothing is converted and nothing runs (P14).
///
/// # Errors
/// `IO` when the texts are too long to be compared, which begins at 1 GiB.
pub fn text_diff(old: &[u8], new: &[u8], context_lines: u32) -> Result<Option<Vec<u8>>> {
    if old.contains(&0) || new.contains(&0) {
        return Ok(None);
    }
    let mut options = DiffOptions::new();
    options.context_lines(context_lines).indent_heuristic(true).force_text(true);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options)).map_err(failed)?;
    let mut out = Vec::new();
    for hunk in 0..patch.num_hunks() {
        let (head, lines) = patch.hunk(hunk).map_err(failed)?;
        push_line(&mut out, &[], head.header());
        for line in 0..lines {
            let line = patch.line_in_hunk(hunk, line).map_err(failed)?;
            match line.origin() {
                origin @ (' ' | '+' | '-') => push_line(&mut out, &[origin as u8], line.content()),
                _ => out.extend_from_slice(NO_LINE_END),
            }
        }
    }
    Ok(Some(out))
}

fn push_line(out: &mut Vec<u8>, sign: &[u8], content: &[u8]) {
    out.extend_from_slice(sign);
    out.extend_from_slice(content);
    if !content.ends_with(b"\n") {
        out.push(b'\n');
    }
}

fn failed(cause: git2::Error) -> Error {
    Error::new(Code::Io, "two texts could not be compared", "look at the files themselves").because(cause)
}
