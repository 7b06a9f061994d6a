import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fullName } from '../machines/names.js';
import { decidePolicy } from '../machines/policy.js';
import { caseFile } from './support/case-file.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const nameOf = (server: string, tool: string): string => fullName(server, tool, sha256);
const FIT = /^[A-Za-z0-9_-]{1,64}$/;

interface NamesCase {
  readonly servers: Readonly<Record<string, readonly string[]>>;
}

interface NamesExpectation {
  readonly count: number;
  readonly policy?: { readonly denied: readonly [string, string][]; readonly allowed: readonly [string, string][] };
}

/** Pieces that join in treacherous ways, and texts of any kind. */
const part = fc.oneof(
  fc
    .array(fc.constantFrom('a', '_', '__', '-', 'b', '.', 'é', '0123456789abcdef'), { minLength: 1, maxLength: 5 })
    .map((list) => list.join('')),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }),
);

describe('full names', () => {
  it('are readable where server and tool allow it', () => {
    expect(nameOf('files', 'read_file')).toBe('mcp__files__read_file');
    expect(nameOf('my-db_2', 'a__b')).toBe('mcp__my-db_2__a__b');
  });

  it.each([
    ['B074-long-names.names.json'],
    ['B075-charset.names.json'],
    ['B077-separators.names.json'],
    ['B078-single-underscore.names.json'],
    ['B079-unicode.names.json'],
    ['B080-same-tool.names.json'],
  ])('fit a model API, differ, and stay the same over runs: B074 B075 B077 B078 B079 B080 (%s)', (file) => {
    const { servers } = caseFile(file) as NamesCase;
    const { count } = caseFile(`${file}.expect.json`) as NamesExpectation;
    const pairs = Object.entries(servers).flatMap(([server, tools]) => tools.map((tool) => [server, tool] as const));
    const names = pairs.map(([server, tool]) => nameOf(server, tool));
    expect(names.filter((name) => !FIT.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(count);
    expect(pairs.map(([server, tool]) => nameOf(server, tool))).toEqual(names);
  });

  it('B077 do not decide a policy: a rule is for the server of its own id', () => {
    const { policy } = caseFile('B077-separators.names.json.expect.json') as NamesExpectation;
    const verdictOf = ([server, tool]: readonly [string, string]) =>
      decidePolicy({
        server,
        tool,
        servedBy: 'user',
        rules: [{ server: 'evil', tool: '*', verdict: 'deny', layer: 'user' }],
        approveTools: ['*'],
        granted: false,
        changed: false,
      }).verdict;
    expect(policy?.denied.map(verdictOf)).toEqual(['deny', 'deny', 'deny']);
    expect(policy?.allowed.map(verdictOf)).toEqual(['allow', 'allow', 'allow']);
  });

  it('keep the whole id of a server, so that no other server can aim at its names', () => {
    const id = 'a-server-with-an-id-of-32-bytes.'.slice(0, 31);
    expect(nameOf(id, 'one tool')).toMatch(new RegExp(`^mcp__${id}__one-tool_[0-9a-f]{16}$`));
  });

  it('S100 cannot be forged by a tool that is called like the mapped name of another', () => {
    const mapped = nameOf('s', 'a.b').slice('mcp__s__'.length);
    expect(nameOf('s', mapped)).not.toBe(nameOf('s', 'a.b'));
  });

  it('S100 differ for any two pairs of server and tool', () => {
    fc.assert(
      fc.property(part, part, part, part, (server, tool, otherServer, otherTool) => {
        fc.pre(server !== otherServer || tool !== otherTool);
        expect(nameOf(server, tool)).not.toBe(nameOf(otherServer, otherTool));
        expect(nameOf(server, tool)).toMatch(FIT);
      }),
      { numRuns: 2_000 },
    );
  });

  it('would not differ if they were joined as they are, which the search finds', () => {
    const joined = (server: string, tool: string): string => `mcp__${server}__${tool}`;
    const found = fc.check(
      fc.property(fc.stringMatching(/^[a_]{4,12}$/), fc.nat(), fc.nat(), (text, one, other) => {
        const nameAt = (at: number): [string, string] => {
          const cut = 1 + (at % (text.length - 1));
          return [text.slice(0, cut), text.slice(cut)];
        };
        const [left, right] = [nameAt(one), nameAt(other).reverse() as [string, string]];
        return left.join(' ') === right.join(' ') || joined(...left) !== joined(...right);
      }),
      { numRuns: 5_000 },
    );
    expect(found.failed).toBe(true);
  });

  it('S100 differ for pairs whose letters are the same and only parted elsewhere', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ab_]{2,12}$/), fc.nat(), fc.nat(), (text, one, other) => {
        const pair = (at: number): [string, string] => [
          text.slice(0, 1 + (at % (text.length - 1))),
          text.slice(1 + (at % (text.length - 1))),
        ];
        fc.pre(pair(one)[0] !== pair(other)[0]);
        expect(nameOf(...pair(one))).not.toBe(nameOf(...pair(other)));
      }),
      { numRuns: 500 },
    );
  });

  it('S099 a name that was not mapped leads back to its server at the first double underscore', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z_-]{1,8}$/), fc.stringMatching(/^[a-z_-]{1,8}$/), (server, tool) => {
        const name = nameOf(server, tool);
        fc.pre(name === `mcp__${server}__${tool}`);
        const rest = name.slice('mcp__'.length);
        const at = rest.indexOf('__');
        expect([rest.slice(0, at), rest.slice(at + 2)]).toEqual([server, tool]);
      }),
    );
  });
});
