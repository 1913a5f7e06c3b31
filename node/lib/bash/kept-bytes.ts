/** The last bytes of what was added, in memory of at most twice their number. */
export class KeptBytes {
  readonly #most: number;
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** @param most how many bytes are kept */
  constructor(most: number) {
    this.#most = most;
  }

  add(bytes: Uint8Array): void {
    const added = bytes.length > this.#most ? bytes.subarray(bytes.length - this.#most) : bytes;
    if (this.#length + added.length > this.#buffer.length) this.#makeRoom(added.length);
    this.#buffer.set(added, this.#length);
    this.#length += added.length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(Math.max(0, this.#length - this.#most), this.#length);
  }

  #makeRoom(needed: number): void {
    const full = 2 * this.#most;
    if (this.#buffer.length < full) {
      const grown = Buffer.alloc(Math.min(full, Math.max(2 * this.#buffer.length, this.#length + needed)));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    if (this.#length + needed <= this.#buffer.length) return;
    const kept = Math.min(this.#length, this.#most - needed);
    this.#buffer.copyWithin(0, this.#length - kept, this.#length);
    this.#length = kept;
  }
}
