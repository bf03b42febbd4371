/**
 * The file of a backup: a tar (POSIX ustar) with three files, which any tar can read. First a manifest with the sizes and SHA-256 of the
 * others. A backup is not trusted: names, kinds, sizes and digests are checked before anything is used.
 */

import { createHash, type Hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import * as z from 'zod';

const CONFIG_NAME = 'airsplice.yaml';
const STORE_NAME = 'airsplice.mdb';
const MANIFEST_NAME = 'manifest.json';
/** Raised when the content changes, including the store's own format. */
const FORMAT = 1;

const BLOCK = 512;
const PIECE_BYTES = 1_048_576;
/** The largest size that ustar can express, and more than any configuration or manifest has. */
const MAX_STORE_BYTES = 8_589_934_591;
const MAX_CONFIG_BYTES = 67_108_864;
const MAX_MANIFEST_BYTES = 4_194_304;
/** Longest text in a manifest. */
const MAX_CHARACTERS = 4096;

const fileSchema = z.strictObject({
  bytes: z.int().min(0).max(MAX_STORE_BYTES),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  airsplice: z.string().max(MAX_CHARACTERS),
  madeAt: z.string().max(MAX_CHARACTERS),
  /** Where the configuration was: only shown, never written to. */
  configPath: z.string().max(MAX_CHARACTERS),
  files: z.strictObject({ [CONFIG_NAME]: fileSchema, [STORE_NAME]: fileSchema }),
});

export type Manifest = z.output<typeof manifestSchema>;

interface Origin {
  readonly airsplice: string;
  readonly madeAt: string;
  readonly configPath: string;
}

/** @param target an open, empty file @param store path of a file that must not change meanwhile */
export function writeArchive(target: number, made: Origin, config: Buffer, store: string): Manifest {
  if (config.length > MAX_CONFIG_BYTES) throw new Error('the configuration is larger than a backup can be');
  const source = openSync(store, 'r');
  try {
    const digest = createHash('sha256');
    const bytes = eachPiece(source, fstatSync(source).size, 0, (piece) => digest.update(piece));
    if (bytes > MAX_STORE_BYTES) throw new Error('the store is too large for a backup');
    const manifest: Manifest = {
      format: FORMAT,
      ...made,
      files: {
        [CONFIG_NAME]: { bytes: config.length, sha256: createHash('sha256').update(config).digest('hex') },
        [STORE_NAME]: { bytes, sha256: digest.digest('hex') },
      },
    };
    const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
    for (const [name, data] of [
      [MANIFEST_NAME, text],
      [CONFIG_NAME, config],
    ] as const) {
      writeFileSync(target, Buffer.concat([header(name, data.length), data, padding(data.length)]));
    }
    writeFileSync(target, header(STORE_NAME, bytes));
    eachPiece(source, bytes, 0, (piece) => writeFileSync(target, piece));
    writeFileSync(target, Buffer.concat([padding(bytes), Buffer.alloc(2 * BLOCK)]));
    return manifest;
  } finally {
    closeSync(source);
  }
}

export interface OpenArchive {
  readonly manifest: Manifest;
  readonly config: Buffer;
  /** Writes the store to an open file; throws if it does not match the manifest. */
  writeStore(target: number): void;
}

/** Throws an Error if the backup is not valid. @param file open */
export function readArchive(file: number): OpenArchive {
  const { size } = fstatSync(file);
  const first = member(file, 0, size, MANIFEST_NAME, MAX_MANIFEST_BYTES);
  const manifest = manifestOf(textAt(file, first.at, first.bytes).toString('utf8'));
  const second = member(file, first.end, size, CONFIG_NAME, MAX_CONFIG_BYTES);
  const third = member(file, second.end, size, STORE_NAME, MAX_STORE_BYTES);
  const config = textAt(file, second.at, second.bytes);
  const said = manifest.files;
  const isConfig = createHash('sha256').update(config).digest('hex') === said[CONFIG_NAME].sha256;
  if (!isConfig || third.bytes !== said[STORE_NAME].bytes)
    throw new Error('it is damaged: its content does not match its manifest');
  return {
    manifest,
    config,
    writeStore: (target) => {
      const digest: Hash = createHash('sha256');
      eachPiece(file, third.bytes, third.at, (piece) => {
        digest.update(piece);
        writeFileSync(target, piece);
      });
      if (digest.digest('hex') !== said[STORE_NAME].sha256)
        throw new Error('it is damaged: the store does not match its manifest');
    },
  };
}

function manifestOf(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('it is damaged: its manifest is unreadable');
  }
  const format = (value as { format?: unknown } | null)?.format;
  if (typeof format === 'number' && format !== FORMAT) {
    const { airsplice = '?' } = value as { airsplice?: unknown };
    throw new Error(
      `it has format ${format}, from airsplice ${String(airsplice).slice(0, 40)}: this version reads format ${FORMAT}`,
    );
  }
  const result = manifestSchema.safeParse(value);
  if (!result.success) throw new Error('it is damaged: its manifest is unreadable');
  return result.data;
}

/** Checks a member's header; returns where its bytes are. Throws if the archive is damaged. */
function member(file: number, at: number, size: number, name: string, maxBytes: number) {
  const head = Buffer.alloc(BLOCK);
  const wrong = new Error(at === 0 ? 'it is not an airsplice backup' : 'it is damaged or truncated');
  if (readSync(file, head, 0, BLOCK, at) !== BLOCK) throw wrong;
  const bytes = Number.parseInt(head.toString('latin1', 124, 135), 8);
  if (!(bytes >= 0 && bytes <= maxBytes)) throw wrong;
  // A header must be exactly what we would have written.
  if (!head.equals(header(name, bytes))) throw wrong;
  const end = at + BLOCK + bytes + padding(bytes).length;
  if (end > size) throw wrong;
  return { at: at + BLOCK, bytes, end };
}

function header(name: string, bytes: number): Buffer {
  const head = Buffer.alloc(BLOCK);
  head.write(name, 0, 'latin1');
  head.write('0000600\0', 100, 'latin1');
  head.write('0000000\0', 108, 'latin1');
  head.write('0000000\0', 116, 'latin1');
  head.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  head.write('00000000000\0', 136, 'latin1');
  head.write('        0', 148, 'latin1');
  head.write('ustar\x0000', 257, 'latin1');
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return head;
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);
}

function textAt(file: number, at: number, bytes: number): Buffer {
  const text = Buffer.alloc(bytes);
  readSync(file, text, 0, bytes, at);
  return text;
}

/** @returns the number of bytes */
function eachPiece(file: number, bytes: number, from: number, onPiece: (piece: Buffer) => void): number {
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  let done = 0;
  while (done < bytes) {
    const read = readSync(file, piece, 0, Math.min(PIECE_BYTES, bytes - done), from + done);
    if (read === 0) throw new Error('it is truncated');
    onPiece(piece.subarray(0, read));
    done += read;
  }
  return done;
}
