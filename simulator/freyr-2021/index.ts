export { type PublishedManagerName, publishedManagerNames } from './managers.js';
export { type PublishedOutcome, type PublishedRun, playPublished } from './play.js';
export { type PublishedSample, readPublishedSample } from './sample.js';
export { type PublishedSummary, summarizePublished } from './summary.js';
