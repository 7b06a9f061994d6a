export { VirtualClock } from '../../properties/kit/virtual-clock.js';
