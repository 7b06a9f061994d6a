import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { ActorScope, AnyEventObject, AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { cancellationMachine } from '../../machines/cancellation-machine.js';
import { paginationMachine } from '../../machines/pagination-machine.js';
import { serverMachine } from '../../machines/server-machine.js';
import { workspaceMachine } from '../../machines/workspace-machine.js';
import { TransitionRecorder, transitionsOf } from '../../test/support/transition-recorder.js';

const machines: readonly AnyStateMachine[] = [serverMachine, workspaceMachine, paginationMachine, cancellationMachine];
const recorders = machines.map((machine) => ({ machine, recorder: new TransitionRecorder(machine) }));

type Begin = (this: AnyStateMachine, scope: ActorScope<AnyMachineSnapshot, AnyEventObject>, input: unknown) => AnyMachineSnapshot;

/** Writes the transitions that this property file took to a file of its own in `folder`. */
export function recordTransitions(folder: string): void {
  const observed = new WeakSet<object>();
  const chart = Object.getPrototypeOf(serverMachine) as AnyStateMachine;
  const { value: begin } = Object.getOwnPropertyDescriptor(chart, 'getInitialSnapshot') as { readonly value: Begin };
  // Every chart begins here, whoever creates its actor and from whatever variant of it; a system is looked at once.
  const look: Begin = function (scope, input) {
    if (!observed.has(scope.system)) {
      observed.add(scope.system);
      scope.system.inspect({
        next: (event) => {
          for (const { recorder } of recorders) recorder.inspect(event);
        },
      });
    }
    return begin.call(this, scope, input);
  };
  chart.getInitialSnapshot = look;
  // A machine binds its methods when it is made.
  for (const machine of machines) machine.getInitialSnapshot = look.bind(machine);
  afterAll(() => {
    const named = (of: (one: (typeof recorders)[number]) => Iterable<string>): readonly string[] =>
      recorders.flatMap((one) => [...of(one)].map((name) => `${one.machine.id}: ${name}`));
    const report = { all: named(({ machine }) => transitionsOf(machine)), taken: named(({ recorder }) => recorder.taken) };
    writeFileSync(join(folder, `${process.pid}-${Math.trunc(performance.now())}.json`), JSON.stringify(report));
  });
}
