export { type PublishedManagerName, publishedManagerNames } from './managers.js';
export { playPublished } from './play.js';
export { PUBLISHED_EVENTS_PER_SECOND } from './rules.js';
export { readPublishedSample } from './sample.js';
export { type PublishedSummary, summarizePublished } from './summary.js';
