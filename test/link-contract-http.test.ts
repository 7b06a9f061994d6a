import { describeContract } from './support/link-contract-suite.js';

describeContract('http');
