/// How many characters of a refused input an error repeats: enough to recognise it, never a megabyte.
const SHOWN_CHARS: usize = 40;

/// A refused input as an error message shows it: quoted, with control characters escaped, cut after 40 characters
/// (a cut one ends in `…`). The result is at most a few hundred bytes, whatever the input.
pub fn excerpt(input: &str) -> String {
    let mut shown = String::from("\"");
    let mut rest = input.chars();
    for character in rest.by_ref().take(SHOWN_CHARS) {
        shown.extend(character.escape_debug());
    }
    shown.push('"');
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}
