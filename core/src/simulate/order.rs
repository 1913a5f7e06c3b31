/// Something's place, and what it is sorted by.
pub(super) type Placed = (u64, u32);

/// The places `0..count`, sorted by key, then by place.
///
/// A radix sort of our own in place of the standard library's, which is five times the code to download, and one function for all keys
/// (W11). What is sorted here is so already most of the time, and its keys differ in few of their bytes otherwise.
pub(super) fn sorted(count: usize, key: &dyn Fn(usize) -> u64) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::with_capacity(count);
    let (mut rises, mut differing) = (true, 0);
    for (at, place) in (0..count).zip(0..) {
        let key = key(at);
        let last = placed.last().map_or(key, |&(last, _)| last);
        rises &= last <= key;
        differing |= last ^ key;
        placed.push((key, place));
    }
    if rises {
        return placed;
    }
    // By one byte after the other, from the last to the first: those that are equal in one stay as the bytes behind it have put them.
    let mut next = placed.clone();
    for byte in 0..KEY_BYTES {
        if byte_of(differing, byte) == 0 {
            continue;
        }
        let mut slots = [0; 1 << u8::BITS];
        for &(key, _) in &placed {
            if let Some(slot) = slots.get_mut(byte_of(key, byte)) {
                *slot += 1;
            }
        }
        let mut before = 0;
        for slot in &mut slots {
            before += std::mem::replace(slot, before);
        }
        for &one in &placed {
            let Some(slot) = slots.get_mut(byte_of(one.0, byte)) else { continue };
            if let Some(place) = next.get_mut(*slot) {
                *place = one;
            }
            *slot += 1;
        }
        std::mem::swap(&mut placed, &mut next);
    }
    placed
}

const KEY_BYTES: u32 = u64::BITS / u8::BITS;

/// The key's byte, counted from its last one.
fn byte_of(key: u64, byte: u32) -> usize {
    usize::from((key >> (byte * u8::BITS)) as u8)
}
