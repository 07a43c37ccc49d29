import { engineSuite } from './engine-suite.js';
import { plainTensorFlow } from './fixtures.js';

engineSuite(plainTensorFlow);
