/**
 * Whether a TLS client's first message is complete. The ClientHello makes a handshake expensive (the answer to it is signed), so no
 * handshake is begun before all of it is there (opening.ts).
 *
 *   record:    22, version 3.x, length (2 bytes), fragment      RFC 8446, 5.1; one message may lie in several records
 *   handshake: 1, length (3 bytes), ClientHello                 RFC 8446, 4
 */

/** The type of a TLS record that holds a handshake. No method and no password begins with it. */
export const HANDSHAKE = 0x16;
const VERSION_3 = 3;
const CLIENT_HELLO = 1;
const RECORD_HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
/** Longest plaintext of a record (RFC 8446, 5.1). */
const RECORD_BYTES = 2 ** 14;
/** Clients that split their ClientHello, to get it past a censor, use two to ten. */
const MAX_RECORDS = 32;

/**
 * @param bytes the first of a connection
 * @param maxBytes the longest ClientHello, with its header
 * @returns 'wrong': no ClientHello, or too long
 */
export function readClientHello(bytes: Buffer, maxBytes: number): 'whole' | 'more' | 'wrong' {
  let got = 0;
  let wanted = MESSAGE_HEADER_BYTES;
  for (let at = 0, records = 0; got < wanted; records++) {
    if (records === MAX_RECORDS) return 'wrong';
    if (at < bytes.length && bytes[at] !== HANDSHAKE) return 'wrong';
    if (at + 1 < bytes.length && bytes[at + 1] !== VERSION_3) return 'wrong';
    if (at + RECORD_HEADER_BYTES > bytes.length) return 'more';
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > RECORD_BYTES) return 'wrong';
    at += RECORD_HEADER_BYTES;
    for (let i = 0; i < length && got + i < MESSAGE_HEADER_BYTES; i++) {
      const byte = bytes[at + i];
      if (byte === undefined) return 'more';
      if (got + i === 0 && byte !== CLIENT_HELLO) return 'wrong';
      if (got + i > 0) wanted += byte << (8 * (MESSAGE_HEADER_BYTES - 1 - got - i));
    }
    got += length;
    if (wanted > maxBytes) return 'wrong';
    // A client waits for the answer before it sends more.
    if (got > wanted) return 'wrong';
    at += length;
    if (at > bytes.length) return 'more';
  }
  return 'whole';
}
