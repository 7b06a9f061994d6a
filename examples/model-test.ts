import { SupervisorError, type Workspace } from 'mcp-supervisor/core';
import { drawChoice, Random, Simulation, setupOf } from 'mcp-supervisor/testing';

/** What is tested: a host's own way to use the supervisor. It tries once more what may succeed later, and never a third time. */
export async function askTwice(workspace: Pick<Workspace, 'call'>, tool: string): Promise<string> {
  const outcomes: string[] = [];
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      await workspace.call(tool, {}, { timeoutMs: 20_000, session: 'model-test' });
      return 'answered';
    } catch (error) {
      if (!SupervisorError.is(error)) throw error;
      outcomes.push(error.code);
      if (!error.retryable) break;
    }
  }
  return outcomes.join(', ');
}

export type HostCode = typeof askTwice;

/**
 * One run of it against the real supervisor in a simulated world: servers that die, hang and change, files that are half
 * written, people who answer late. After every event the kit judges its own invariants; what the host promises is judged here.
 * The same seed is the same run. Throws what was broken.
 */
export async function modelTest(seed: number, hostCode: HostCode = askTwice): Promise<readonly string[]> {
  const simulation = new Simulation(setupOf(seed));
  await simulation.open();
  const random = new Random(seed);
  const asked: Promise<string>[] = [];
  const calls = { open: 0, most: 0 };
  for (let made = 0; made < 300; made += 1) {
    const [room] = simulation.host.rooms;
    const handle = room?.handle;
    if (handle !== undefined && handle !== null && made % 30 === 29) {
      let own = 0;
      const counted: Pick<Workspace, 'call'> = {
        call: (...args) => {
          own += 1;
          calls.most = Math.max(calls.most, own);
          return handle.call(...args);
        },
      };
      asked.push(hostCode(counted, 'mcp__a__free'));
    }
    await simulation.choose(drawChoice(random, simulation.world.setup.pace));
  }
  await simulation.settle();
  await simulation.close();
  if (calls.most > 2) throw new Error(`seed ${seed}: a tool was asked ${calls.most} times`);
  return Promise.all(asked);
}
