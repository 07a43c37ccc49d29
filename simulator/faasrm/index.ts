export {
  CORRECTED_CONTENDERS,
  CORRECTED_FIGURES,
  CORRECTED_SHAPE,
  type CorrectedFigure,
  type CorrectedRow,
  type CorrectedSection,
  type CorrectedSetting,
  type CorrectedVerdict,
  correctedSection,
  correctedVerdicts,
  JUDGED_BY,
} from './corrected-study.js';
export { PUBLISHED_FREYR, PUBLISHED_OPENWHISK, PUBLISHED_SIMULATION } from './published-figures.js';
export {
  PUBLISHED_CONTENDERS,
  PUBLISHED_STUDY_FIGURES,
  type PublishedRow,
  type PublishedStudyFigure,
  publishedStudy,
} from './published-study.js';
