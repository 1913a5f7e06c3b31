/// Something's place, and what it is sorted by.
pub(super) type Placed = (u64, u32);

/// The places `0..count`, sorted by key, then by place.
///
/// A merge sort of our own in place of the standard library's, which is five times the code to download, and one function for all keys
/// (W11). What is sorted here is so already most of the time.
pub(super) fn sorted(count: usize, key: &dyn Fn(usize) -> u64) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::with_capacity(count);
    let mut rises = true;
    let mut last = 0;
    for (at, place) in (0..count).zip(0..) {
        let key = key(at);
        rises &= last <= key;
        last = key;
        placed.push((key, place));
    }
    let mut width = if rises { count } else { 1 };
    let mut merged = Vec::new();
    if width < count {
        merged.clone_from(&placed);
    }
    while width < count {
        for (runs, into) in placed.chunks(width * 2).zip(merged.chunks_mut(width * 2)) {
            let (one, other) = runs.split_at(width.min(runs.len()));
            merge(one, other, into);
        }
        std::mem::swap(&mut placed, &mut merged);
        width *= 2;
    }
    placed
}

/// Of equal keys those of `one` come first: their places are lower.
fn merge<'a>(mut one: &'a [Placed], mut other: &'a [Placed], into: &mut [Placed]) {
    for slot in into {
        let is_one = match (one.first(), other.first()) {
            (Some((one, _)), Some((other, _))) => one <= other,
            (one, _) => one.is_some(),
        };
        let from = if is_one { &mut one } else { &mut other };
        if let Some((first, rest)) = from.split_first() {
            (*slot, *from) = (*first, rest);
        }
    }
}
