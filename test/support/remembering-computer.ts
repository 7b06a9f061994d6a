import type { SupervisorOptions, WorkspaceOptions } from '../../actors/api.js';
import type { PolicyRule, Question, ServerDefinition } from '../../actors/ports.js';
import { ListedTools } from './listed-tools.js';
import { outcomeOf } from './outcome.js';
import { layer, Simulation, server } from './simulated-ports.js';

export const NAME = 'mcp__files__echo';
export const ALWAYS = { decision: 'approve', remember: true } as const;

export const echoRule = (verdict: PolicyRule['verdict'], from: PolicyRule['layer'] = 'user'): PolicyRule => ({
  server: 'files',
  tool: 'echo',
  verdict,
  layer: from,
});

/** One computer with one workspace: what is remembered in it, and what was asked. */
export function computer() {
  const sim = new Simulation();
  const listed = new ListedTools();
  const asked: Extract<Question, { kind: 'call' }>[] = [];
  let answer: unknown = ALWAYS;
  sim.behaviours.set('files', { answers: true });
  const user = (rules: readonly PolicyRule[] = [], over: Partial<ServerDefinition> = {}) =>
    layer('user', [server('files', { approveTools: [], ...over })], { toolPolicies: rules });
  sim.layers = [user()];
  const approve = (question: Question): unknown => {
    if (question.kind === 'server') return 'approve';
    asked.push(question);
    return answer;
  };
  /** One run of the host, with the server ready. */
  const run = async (options: SupervisorOptions = {}, workspaceOptions: WorkspaceOptions = { trusted: true }) => {
    const opened = await sim.open({ approve, ...options }, workspaceOptions, { grants: listed });
    await opened.workspace.connectAll();
    const call = async (name = NAME): Promise<string> => {
      const outcome = outcomeOf(opened.workspace.call(name));
      await sim.settle();
      return outcome.state;
    };
    return { ...opened, call };
  };
  /** The server's lists are other ones now. */
  const relist = async (description: string): Promise<void> => {
    sim.behaviours.set('files', { answers: true, description });
    sim.link('files').behaviour.description = description;
    sim.link('files').announce('tools');
    await sim.run(1_000);
  };
  return { sim, listed, asked, user, run, relist, say: (word: unknown) => void (answer = word) };
}
