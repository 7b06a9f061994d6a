import { cutUtf8, utf8Bytes } from '../machines/utf8.js';
import type { CallResult, GatewayResult } from './api.js';
import { guardForModel } from './model-guard.js';
import { labelText, type Piece, piecesOf, resourcePieces } from './output-blocks.js';
import type { Ports } from './ports.js';
import { structuredSummary } from './structured-summary.js';

export interface Bounded {
  readonly result: GatewayResult;
  /** Full paths of the files that hold what was too long. */
  readonly spilled: readonly string[];
}

/** Keeps results to a size a model can take; what is longer goes whole to a file of ours. */
export interface Outputs {
  /** A tool's result or a resource's contents, bounded. Never rejects: what cannot be spilled is cut and says so. */
  bound(result: CallResult, label: string): Promise<Bounded>;
  /** A page of a spill. Rejects with `INVALID_ARGUMENTS` for a URI that is none of ours. */
  read(uri: string, offset: number, limitBytes: number): Promise<GatewayResult>;
}

type Block = GatewayResult['content'][number];

const TEXT_BYTES = 8 * 1_024;
const TEXT_LINES = 1_000;
const STRUCTURED_BYTES = 16 * 1_024;
const MEDIA_UNITS = 16 * 1_024;
const BLOCKS_MAX = 100;
const BASE64_RUN = 256;
/** UTF-16 units that may be spilled for one call; the port has a quota for the process. */
const CALL_QUOTA = 64 * 1_024 * 1_024;
/** The least a page of a spill can be: one character. */
const PAGE_BYTES_MIN = 4;

export function createOutputs({ fs }: Pick<Ports, 'fs'>): Outputs {
  return {
    async bound(result, label) {
      const spills = new Spills((text) => fs.writeSpill(spillName(label), text));
      try {
        return { result: guardForModel(await boundResult(result, spills)), spilled: spills.paths };
      } catch {
        // Such as a value nested too deep to be written as JSON.
        const text = `[The result of ${labelText(label)} cannot be shown.]`;
        return { result: { content: [{ type: 'text', text }], isError: true }, spilled: spills.paths };
      }
    },

    async read(uri, offset, limitBytes) {
      const { text, nextOffset } = await fs.readSpill(uri, offset, Math.max(PAGE_BYTES_MIN, Math.min(limitBytes, TEXT_BYTES)));
      const nextCursor = nextOffset === null ? null : String(nextOffset);
      const notice = nextCursor === null ? [] : [textBlock(`[More: read again with "cursor": "${nextCursor}".]`)];
      return guardForModel({ content: [textBlock(text), ...notice], structuredContent: { uri, nextCursor } });
    },
  };
}

/** What is kept of a name that a server chose: nothing that could lead to another directory. */
const spillName = (label: string): string => label.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, 64);

interface Spill {
  readonly path: string;
  readonly uri: string;
}

/** The files of one call: each text once, all within the quota; a failure is `null`, not an exception. */
class Spills {
  readonly #write: (text: string) => Promise<Spill>;
  readonly #written = new Map<string, Spill>();
  #left = CALL_QUOTA;

  constructor(write: (text: string) => Promise<Spill>) {
    this.#write = write;
  }

  get paths(): readonly string[] {
    return [...this.#written.values()].map(({ path }) => path);
  }

  async keep(text: string): Promise<Spill | null> {
    const before = this.#written.get(text);
    if (before !== undefined) return before;
    if (text.length > this.#left) return null;
    const spill = await this.#write(text).catch(() => null);
    if (spill === null) return null;
    this.#left -= text.length;
    this.#written.set(text, spill);
    return spill;
  }
}

async function boundResult(result: CallResult, spills: Spills): Promise<GatewayResult> {
  const pieces = [...piecesOf(result['content']), ...resourcePieces(result['contents'])];
  const structured = structuredOf(result['structuredContent'], pieces);
  const shown: readonly Piece[] = pieces.length === 0 ? [emptyPiece(structured)] : pieces;
  const content = await boundContent(shown, spills);
  const isError = result['isError'] === true ? { isError: true } : {};
  if (structured === undefined) return { content, ...isError };
  return { content, structuredContent: await boundStructured(structured, spills), ...isError };
}

/** Absent stays absent; base64 that a media block already carries is not said twice. */
function structuredOf(value: unknown, pieces: readonly Piece[]): unknown {
  if (value === undefined || (value === null && pieces.length > 0)) return undefined;
  const media = new Set(
    pieces.flatMap((piece) => (piece.kind === 'binary' && piece.data.length > BASE64_RUN ? [piece.data] : [])),
  );
  if (media.size === 0) return value;
  const once = (_key: string, field: unknown): unknown =>
    typeof field === 'string' && media.has(field) ? '[the data of a media block]' : field;
  return JSON.parse(JSON.stringify(value, once));
}

/** A result may have no content at all; a model still has to see what there is. */
function emptyPiece(structured: unknown): Piece {
  return { kind: 'text', text: structured === undefined ? '[empty result]' : JSON.stringify(structured) };
}

async function boundContent(pieces: readonly Piece[], spills: Spills): Promise<Block[]> {
  const content: Block[] = [];
  let bytes = TEXT_BYTES;
  let lines = TEXT_LINES;
  let media = MEDIA_UNITS;
  let isCut: boolean = pieces.length > BLOCKS_MAX;
  for (const piece of pieces.slice(0, BLOCKS_MAX)) {
    if (piece.kind === 'small') {
      content.push(piece.block);
    } else if (piece.kind === 'binary') {
      const block = piece.data.length <= media ? piece.block : null;
      if (block !== null) media -= piece.data.length;
      content.push(block ?? (await binaryNotice(piece, spills)));
    } else {
      const head = headOf(piece.text, bytes, lines);
      const isWhole = head.length === piece.text.length;
      isCut ||= !isWhole;
      if (isWhole && piece.kind === 'textual') content.push(piece.block);
      else if (isWhole || head !== '') content.push(textBlock(head));
      bytes -= utf8Bytes(head);
      lines -= lineCount(head);
      // What comes behind a cut would look as if it followed what was shown.
      if (!isWhole) bytes = 0;
    }
  }
  if (isCut) content.push(await cutNotice(pieces, spills));
  return content;
}

async function cutNotice(pieces: readonly Piece[], spills: Spills): Promise<Block> {
  const whole = pieces.map((piece) => (piece.kind === 'binary' ? `[${piece.label}]` : piece.text)).join('\n');
  const spill = await spills.keep(whole);
  const size = `[Output cut: the whole has ${utf8Bytes(whole)} bytes in ${pieces.length} ${pieces.length === 1 ? 'block' : 'blocks'}.`;
  return textBlock(`${size} ${whereItIs(spill)}]`);
}

async function binaryNotice(piece: Piece & { readonly kind: 'binary' }, spills: Spills): Promise<Block> {
  const padding = piece.data.endsWith('==') ? 2 : Number(piece.data.endsWith('='));
  const bytes = Math.floor(((piece.data.length - padding) * 3) / 4);
  return textBlock(`[${piece.label}, ${bytes} bytes, not shown. ${whereItIs(await spills.keep(piece.data), 'As base64')}]`);
}

async function boundStructured(value: unknown, spills: Spills): Promise<Record<string, unknown>> {
  const json = JSON.stringify(value);
  const bytes = utf8Bytes(json);
  if (bytes <= STRUCTURED_BYTES) return isRecord(value) ? value : { value };
  const spill = await spills.keep(json);
  return { ...structuredSummary(value, bytes), spill, notice: whereItIs(spill) };
}

function whereItIs(spill: Spill | null, what = 'All of it'): string {
  if (spill === null) return 'The rest could not be kept (SPILL_FAILED).';
  return `${what}: ${spill.path} or {"action":"read","uri":"${spill.uri}"}`;
}

/** The first lines of a text, cut between code points. */
function headOf(text: string, bytesMax: number, linesMax: number): string {
  const head = cutUtf8(text, bytesMax);
  let end = -1;
  for (let lines = 0; lines < linesMax; lines += 1) {
    end = head.indexOf('\n', end + 1);
    if (end < 0) return head;
  }
  // A newline that ends the last line shown starts no further one.
  return end === text.length - 1 ? text : head.slice(0, Math.max(end, 0));
}

const lineCount = (text: string): number => (text === '' ? 0 : text.split('\n').length);

const textBlock = (text: string): Block => ({ type: 'text', text });

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
