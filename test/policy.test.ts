import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Meter, matchesGlob } from '../machines/glob.js';
import { decidePolicy, type PolicyQuestion, type ToolRule, tighten, type Verdict } from '../machines/policy.js';
import type { LayerName } from '../machines/vocabulary.js';
import { caseFile } from './support/case-file.js';

const question: PolicyQuestion = {
  server: 'files',
  tool: 'read_file',
  servedBy: 'user',
  rules: [],
  approveTools: [],
  granted: false,
  changed: false,
};

const rule = (verdict: Verdict, layer: LayerName = 'user', tool: string | null = '*', server = 'files'): ToolRule => ({
  server,
  tool,
  verdict,
  layer,
});

const ask = (change: Partial<PolicyQuestion>) => decidePolicy({ ...question, ...change });

/** The same order, one sentence a line, without a thought for speed. */
function oracle(q: PolicyQuestion): Verdict {
  const isUsers = (layer: string) => layer === 'user' || layer.startsWith('plugin:');
  const fitting = q.rules.filter((r) => r.server === q.server && (r.tool === null || naiveGlob(r.tool, q.tool)));
  if (fitting.some((r) => r.verdict === 'deny')) return 'deny';
  if (q.granted) return 'allow';
  if (fitting.some((r) => r.verdict === 'ask')) return 'ask';
  const mayAllow = (r: { readonly layer: string }) => r.layer === 'user' || r.layer === q.servedBy;
  if (q.changed) return 'ask';
  if (isUsers(q.servedBy) && fitting.some((r) => r.verdict === 'allow' && mayAllow(r))) return 'allow';
  if (isUsers(q.servedBy) && q.approveTools.some((glob) => naiveGlob(glob, q.tool))) return 'allow';
  return 'ask';
}

const severity: Readonly<Record<Verdict, number>> = { allow: 0, ask: 1, deny: 2 };

/** The host's word on top: the stricter of the two, and a word that is none says nothing. */
function oracleOfBoth(q: PolicyQuestion, word: unknown): Verdict {
  const own = oracle(q);
  const said = word === 'deny' || word === 'ask' ? word : 'allow';
  return severity[said] > severity[own] ? said : own;
}

function naiveGlob(glob: string, name: string): boolean {
  const [head, ...rest] = Array.from(glob);
  const characters = Array.from(name);
  if (head === undefined) return characters.length === 0;
  if (head === '*')
    return characters.some((_, at) => naiveGlob(rest.join(''), characters.slice(at).join(''))) || naiveGlob(rest.join(''), '');
  if (characters.length === 0 || (head !== '?' && head !== characters[0])) return false;
  return naiveGlob(rest.join(''), characters.slice(1).join(''));
}

const layer = fc.constantFrom<LayerName>('user', 'plugin:p', 'workspace', 'workspace-override');
const glob = fc.array(fc.constantFrom('a', 'b', 'A', '_', '*', '?', '😀'), { maxLength: 6 }).map((list) => list.join(''));
const name = fc.array(fc.constantFrom('a', 'b', 'A', '_', '😀'), { maxLength: 8 }).map((list) => list.join(''));
const questions: fc.Arbitrary<PolicyQuestion> = fc.record({
  server: fc.constant('s'),
  tool: name,
  servedBy: layer,
  rules: fc.array(
    fc.record({
      server: fc.constantFrom('s', 's', 't'),
      tool: fc.option(glob),
      verdict: fc.constantFrom<Verdict>('allow', 'ask', 'deny'),
      layer,
    }),
    { maxLength: 5 },
  ),
  approveTools: fc.array(glob, { maxLength: 2 }),
  granted: fc.boolean(),
  changed: fc.boolean(),
});
const words = fc.constantFrom<unknown>('deny', 'ask', 'allow', 'approve', true, undefined);
const RULE_SETS = 3_000;

/** How many sets of rules, with a word of the host, there are on which an evaluation disagrees with the oracle. */
function disagreements(evaluate: (q: PolicyQuestion, word: unknown) => Verdict): number {
  return fc.sample(fc.tuple(questions, words), RULE_SETS).filter(([q, word]) => evaluate(q, word) !== oracleOfBoth(q, word))
    .length;
}

const decideBoth = (q: PolicyQuestion, word: unknown): Verdict => tighten(decidePolicy(q), word).verdict;

describe('a tool policy', () => {
  it('asks when no rule says anything', () => {
    expect(ask({})).toEqual({ verdict: 'ask', rule: 'ask, as no rule says otherwise' });
  });

  it('denies when any layer denies, whatever else allows it', () => {
    const rules = [rule('allow'), rule('deny', 'workspace', 'read_*')];
    expect(ask({ rules, granted: true, approveTools: ['*'] })).toMatchObject({
      verdict: 'deny',
      rule: 'deny "files.read_*" of workspace',
    });
  });

  it('takes a remembered grant before an explicit ask', () => {
    expect(ask({ rules: [rule('ask')], granted: true })).toEqual({ verdict: 'allow', rule: 'a remembered grant' });
  });

  it('takes an explicit ask of a workspace before an allow of the user', () => {
    expect(ask({ rules: [rule('allow'), rule('ask', 'workspace', null)] })).toMatchObject({
      verdict: 'ask',
      rule: 'ask "files" of workspace',
    });
  });

  it("allows what the user, a plugin or the user's approveTools allow", () => {
    expect(ask({ rules: [rule('allow', 'user', 'read_file')] })).toMatchObject({
      verdict: 'allow',
      rule: 'allow "files.read_file" of user',
    });
    expect(ask({ rules: [rule('allow', 'plugin:p')], servedBy: 'plugin:p' }).verdict).toBe('allow');
    expect(ask({ approveTools: ['write_*', 'read_*'] })).toMatchObject({
      verdict: 'allow',
      rule: 'approveTools "read_*" of user',
    });
  });

  it('names the first of several rules that say the same', () => {
    const rules = [rule('ask', 'user', 'read_*'), rule('ask', 'workspace')];
    expect(ask({ rules }).rule).toBe('ask "files.read_*" of user');
    expect(ask({ rules: rules.map((one) => ({ ...one, layer: 'user', verdict: 'allow' })) }).rule).toBe(
      'allow "files.read_*" of user',
    );
  });

  it.each<LayerName>(['workspace', 'workspace-override'])('counts an allow of %s for nothing', (layerOfRule) => {
    expect(ask({ rules: [rule('allow', layerOfRule)] }).verdict).toBe('ask');
  });

  it.each<LayerName>(['workspace', 'workspace-override'])(
    "does not lend the user's allow to a server of the same id from %s",
    (servedBy) => {
      expect(ask({ servedBy, rules: [rule('allow')], approveTools: ['*'] }).verdict).toBe('ask');
    },
  );

  it('leaves the rules of other servers alone', () => {
    expect(ask({ rules: [rule('deny', 'user', null, 'file')] }).verdict).toBe('ask');
  });

  it('S028 denies when a rule cannot be evaluated or says something unknown', () => {
    const broken = JSON.parse('{"server":"files","tool":7,"verdict":"allow","layer":"user"}') as ToolRule;
    expect(ask({ rules: [broken] })).toEqual({ verdict: 'deny', rule: 'a rule that cannot be evaluated' });
    expect(ask({ rules: [{ ...rule('allow'), verdict: 'alow' as Verdict }] }).verdict).toBe('deny');
  });

  it('asks about a definition that has changed, whoever allowed the one before, but for a grant of its own', () => {
    const allowed = { rules: [rule('allow')], approveTools: ['*'], changed: true };
    expect(ask(allowed)).toEqual({ verdict: 'ask', rule: 'ask, as the definition has changed' });
    expect(ask({ ...allowed, rules: [] }).rule).toBe('ask, as the definition has changed');
    expect(ask({ ...allowed, granted: true }).verdict).toBe('allow');
    expect(ask({ ...allowed, rules: [rule('deny')], granted: true }).verdict).toBe('deny');
  });

  it('S028 agrees with a naive reading of the same order over 3 000 random rule sets and words of the host', () => {
    expect(disagreements(decideBoth)).toBe(0);
  });

  it.each<readonly [string, (q: PolicyQuestion, word: unknown) => Verdict]>([
    [
      'a grant before a deny',
      (q, word) => (q.granted ? tighten({ verdict: 'allow', rule: '' }, word).verdict : decideBoth(q, word)),
    ],
    ['an ask before a grant', (q, word) => decideBoth({ ...q, granted: false }, word)],
    [
      'an allow of a workspace',
      (q, word) => decideBoth({ ...q, rules: q.rules.map((one) => ({ ...one, layer: 'user' })) }, word),
    ],
    ["the user's allow lent to a workspace's server", (q, word) => decideBoth({ ...q, servedBy: 'user' }, word)],
    ['an allow of what has changed', (q, word) => decideBoth({ ...q, changed: false }, word)],
    ['a host that loosens', (q, word) => (word === 'allow' ? 'allow' : decideBoth(q, word))],
    ['a host that is not heard', (q) => decidePolicy(q).verdict],
    [
      'the rules of another server',
      (q, word) => decideBoth({ ...q, rules: q.rules.map((one) => ({ ...one, server: 's' })) }, word),
    ],
  ])('would be caught by that comparison with %s', (_what, planted) => {
    expect(disagreements(planted)).toBeGreaterThan(0);
  });

  it('S028 reads 10 000 rules to the last one, for a name of 4 KiB and globs in any script', () => {
    const tool = `tool_9_${'é😀'.repeat(682)}`;
    expect(Buffer.byteLength(tool)).toBeGreaterThan(4_096);
    const rules = Array.from({ length: 10_000 }, (_, at) => rule('allow', 'user', at % 2 === 0 ? `tool_${at}_*` : `*é?${at}*😀`));
    expect(ask({ tool, rules: [...rules, rule('deny', 'workspace', '*é?é*😀')] }).rule).toBe('deny "files.*é?é*😀" of workspace');
    expect(ask({ tool, rules }).verdict).toBe('ask');
    expect(ask({ tool, rules: [...rules, rule('allow', 'user', 'tool_9_*')] }).verdict).toBe('allow');
  });

  it('S028 denies what would take longer than any rules of a file can', () => {
    const endless = Array.from({ length: 100 }, () => rule('allow', 'user', `*${'a?'.repeat(16_000)}*b*a`));
    expect(ask({ tool: 'a'.repeat(40_000), rules: endless })).toEqual({
      verdict: 'deny',
      rule: 'a rule that cannot be evaluated',
    });
  });

  it('B175 lets a deny win over an allow, whole names and globs alike, with one answer wherever it is asked', () => {
    interface Case {
      readonly policy: { readonly allow: readonly string[]; readonly deny?: readonly string[] };
      readonly tools: readonly string[];
    }
    const { also, ...first } = caseFile('B175-deny.policy.json') as Case & { readonly also: Case };
    const { allowed, denied } = caseFile('B175-deny.policy.json.expect.json') as Record<'allowed' | 'denied', string[]>;
    const verdicts = ({ policy, tools }: Case): Record<string, Verdict> => {
      const rules = [
        ...policy.allow.map((tool) => rule('allow', 'user', tool)),
        ...(policy.deny ?? []).map((tool) => rule('deny', 'workspace', tool)),
      ];
      return Object.fromEntries(tools.map((tool) => [tool, ask({ rules, tool }).verdict]));
    };
    const expected = [...allowed.map((tool) => [tool, 'allow']), ...denied.map((tool) => [tool, 'deny'])];
    expect(verdicts(first)).toEqual(Object.fromEntries(expected));
    // What no rule names is no yes: it is asked about, which a host without a channel refuses.
    expect(verdicts(also)).toEqual({ read: 'allow', write: 'ask' });
  });
});

describe("the host's own word on a call", () => {
  const allow = { verdict: 'allow', rule: 'r' } as const;

  it('may tighten the verdict and nothing else', () => {
    expect(tighten(allow, 'deny')).toEqual({ verdict: 'deny', rule: 'deny by the host' });
    expect(tighten(allow, 'ask')).toEqual({ verdict: 'ask', rule: 'ask by the host' });
    expect(tighten(allow, 'allow')).toBe(allow);
    const denied = { verdict: 'deny', rule: 'r' } as const;
    expect([tighten(denied, 'allow'), tighten(denied, 'ask'), tighten(denied, undefined)]).toEqual([denied, denied, denied]);
  });
});

describe('a glob', () => {
  it('stands for the whole name, case-sensitive, and knows only * and ?', () => {
    expect(matchesGlob('read_*', 'read_file')).toBe(true);
    expect(matchesGlob('read', 'read_file')).toBe(false);
    expect(matchesGlob('Read_*', 'read_file')).toBe(false);
    expect(matchesGlob('r?ad', 'read')).toBe(true);
    expect(matchesGlob('[r]ead', 'read')).toBe(false);
    expect(matchesGlob('*', '')).toBe(true);
    expect(matchesGlob('?', '😀')).toBe(true);
    expect(matchesGlob('read.file', 'read_file')).toBe(false);
  });

  it('S028 agrees with a naive matcher', () => {
    fc.assert(
      fc.property(glob, name, (pattern, text) => matchesGlob(pattern, text) === naiveGlob(pattern, text)),
      { numRuns: 1_000 },
    );
  });

  it('would not agree if a star stood for one letter at least, which the search finds', () => {
    const greedy = (pattern: string, text: string): boolean => matchesGlob(pattern.replaceAll('*', '?*'), text);
    const found = fc.check(
      fc.property(glob, name, (pattern, text) => greedy(pattern, text) === naiveGlob(pattern, text)),
      { numRuns: 1_000 },
    );
    expect(found.failed).toBe(true);
  });

  it('S028 takes twice the steps for a name twice as long, whatever the glob, and no step for most rules', () => {
    const steps = (pattern: string, length: number): number => {
      const meter: Meter = { steps: 0 };
      matchesGlob(pattern, 'a'.repeat(length), meter);
      return meter.steps;
    };
    for (const pattern of ['*a*a*a*', '*a?a?b*a', `*${'a'.repeat(40)}*a?a*`, `${'*a'.repeat(200)}*`]) {
      expect(steps(pattern, 1_024)).toBeGreaterThan(0);
      expect(steps(pattern, 2_048)).toBe(2 * steps(pattern, 1_024));
      expect(steps(pattern, 1_024)).toBeLessThanOrEqual(1_024 * Math.ceil((pattern.length + 1) / 31));
    }
    expect(['a', 'b*', '*b', 'a*', '*', '?b'].map((pattern) => steps(pattern, 1_024))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('S106 does not run away on a pattern made to backtrack', () => {
    // 3 000 stars against 4 096 letters: with backtracking this would outlast the suite.
    expect(matchesGlob(`${'*a'.repeat(3_000)}b`, 'a'.repeat(4_096))).toBe(false);
  });
});
