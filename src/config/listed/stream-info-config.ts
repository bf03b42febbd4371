/**
 * Options of `streamInfo` of a channel: facts for indexes of streams, by stream-meta.info (version 2). Each becomes a header, so only one line of
 * ASCII is allowed.
 */

import * as z from 'zod';
import { checked, flag, list, section, webUrl } from '../field.js';

export function streamInfoSchema() {
  return section({
    mainStreamUrl: headerUrl().optional(),
    logo: headerUrl().optional(),
    countryCode: matching(/^[A-Z]{2}$/, 'must be an ISO 3166-1 country in two capital letters, such as AT').optional(),
    subdivisionCode: matching(/^[A-Z]{2}-[A-Z0-9]{1,3}$/, 'must be an ISO 3166-2 subdivision, such as AT-1').optional(),
    languageCodes: list(
      matching(/^[a-z]{2,3}$/, 'must be an ISO 639 language in two or three lower-case letters, such as de or deu'),
      1,
      16,
    ).optional(),
    // Absent: no header.
    indexMetadata: flag().optional(),
    doNotIndex: flag().optional(),
    geoLatLong: z
      .tuple([degrees(90), degrees(180)], { error: 'must be a list of latitude and longitude, such as [48.21, 16.37]' })
      .optional(),
  }).refine(
    ({ countryCode, subdivisionCode }) =>
      countryCode === undefined || subdivisionCode === undefined || subdivisionCode.startsWith(`${countryCode}-`),
    { path: ['subdivisionCode'], error: 'must be a subdivision of countryCode' },
  );
}

const headerUrl = () =>
  checked(
    'must be an http:// or https:// URL of at most 1024 ASCII characters, without spaces, user and password',
    (value) => /^[\x21-\x7e]{1,1024}$/.test(value) && webUrl().safeParse(value).success,
  );

const matching = (pattern: RegExp, error: string) => z.string({ error }).regex(pattern, { error });

const degrees = (most: number) => {
  const error = `must be a number of degrees from ${-most} to ${most}`;
  return z.number({ error }).min(-most, { error }).max(most, { error });
};
