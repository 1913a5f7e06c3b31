/// A stream of bits that looks random and follows from its seed alone: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub(super) struct Luck(u64);

impl Luck {
    /// The luck of the attempt that a batch leads. Under one policy a batch leads one at most, and under all of them it has the same
    /// luck, so that policies can be compared.
    pub(super) fn of(seed: u32, batch: u32) -> Self {
        Self(mix(u64::from(seed) << 32 | u64::from(batch)))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A whole number from 0 to `most`, each with equal chances as far as 64 bits allow.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        let Some(count) = most.checked_add(1) else { return self.next() };
        let scaled = u128::from(self.next()) * u128::from(count);
        // The upper half of a product of two 64-bit numbers.
        u64::try_from(scaled >> 64).unwrap_or(most)
    }
}

const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
