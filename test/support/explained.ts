import { expect } from 'vitest';
import type { Explanation, SupervisorOptions, WorkspaceOptions } from '../../actors/api.js';
import type { LayerReading } from '../../actors/ports.js';
import { Simulation } from './simulated-ports.js';

/** Opened on these layers; `explain` is of the one thing that the name stands for. */
export async function opened(
  layers: readonly LayerReading[],
  options: SupervisorOptions = {},
  workspaceOptions: WorkspaceOptions = {},
) {
  const sim = new Simulation();
  sim.layers = layers;
  sim.behaviours.set('files', { answers: true, tools: ['read_file', 'write_file'] });
  const { workspace } = await sim.open(options, workspaceOptions);
  const explain = (name: string): Explanation => {
    const [only, ...others] = workspace.explain(name);
    expect(others).toEqual([]);
    return only as Explanation;
  };
  return { sim, workspace, explain };
}
