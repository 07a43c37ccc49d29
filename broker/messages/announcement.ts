import { z } from 'zod';
import { services } from '../subjects.js';
import { decoder } from './codec.js';
import { bootField, hostField, text, version } from './fields.js';

/** A running instance of a service (`service.<host>`, each part → aggregators). */
export const announcementSchema = z.object({
  v: version,
  service: z.enum(services),
  host: hostField,
  id: bootField.describe("The instance's, as in its answer to `$SRV.PING`."),
  stopping: z.boolean().optional().describe('It answers no more.'),
  failure: text.optional().describe('The fault after which it stops. Absent: it stops in order.'),
});
export type Announcement = z.infer<typeof announcementSchema>;
export const decodeAnnouncement = decoder(announcementSchema);
