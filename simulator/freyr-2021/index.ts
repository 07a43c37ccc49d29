export type { PublishedExperienceListener, PublishedLearner } from './faasrm.js';
export { type PublishedManagerName, publishedManagerNames } from './managers.js';
export { type PublishedOutcome, type PublishedRun, playPublished } from './play.js';
export { PUBLISHED_EVENTS_PER_SECOND } from './rules.js';
export { type PublishedSample, readPublishedSample } from './sample.js';
export { type PublishedSummary, summarizePublished } from './summary.js';
