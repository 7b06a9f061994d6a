import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition, InspectionEvent } from 'xstate';

/** `<state> --<event>--> [<number>]`: names one transition of a chart, however often the chart is provided anew. */
const nameOf = (source: AnyStateNode, event: string, index: number): string =>
  `${source.path.join('.') || '(root)'} --${event || 'always'}--> [${index}]`;

/** Every transition that a chart has. */
export function transitionsOf(machine: AnyStateMachine): string[] {
  const names: string[] = [];
  const visit = (node: AnyStateNode): void => {
    for (const [event, transitions] of node.transitions) {
      if (event !== '') names.push(...transitions.map((_, index) => nameOf(node, event, index)));
    }
    names.push(...(node.always ?? []).map((_, index) => nameOf(node, '', index)));
    for (const child of Object.values(node.states)) visit(child);
  };
  visit(machine.root);
  return names;
}

/** Collects the transitions that actors of one chart take; its `inspect` is handed to every `createActor`. */
export class TransitionRecorder {
  readonly taken = new Set<string>();
  readonly #id: string;

  constructor(machine: AnyStateMachine) {
    this.#id = machine.id;
  }

  readonly inspect = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.microstep') return;
    for (const transition of event._transitions) this.#note(transition);
  };

  #note(transition: AnyTransitionDefinition): void {
    const eventType = String(transition.eventType);
    const source: AnyStateNode = transition.source;
    if (source.machine.id !== this.#id) return;
    const row = eventType === '' ? source.always : source.transitions.get(eventType);
    this.taken.add(nameOf(source, eventType, row?.indexOf(transition) ?? -1));
  }
}
