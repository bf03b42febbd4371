/** Finds what is wrong in the facts of one moment. Pure; alert-board.ts decides whether it is worth an alert. */

import { WRONG_CLOCK_MS } from '../base/clock.js';
import type { AlertsConfig } from '../config/alerts-config.js';
import type { Condition } from './condition.js';
import type { AlertFacts, CertificateFacts, ChannelCondition, LimitFacts } from './server-facts.js';

export type Thresholds = Pick<AlertsConfig, 'slowSaveMs' | 'freeMegabytes' | 'certificateDays' | 'limitPercent'>;

const DAY_MS = 86_400_000;
const MEGABYTE = 1_000_000;
/** A certificate by ACME is reported when less than this part of its life is left; it should be renewed at a third. */
const LAST_PART = 1 / 6;

export function conditionsOf(facts: AlertFacts, thresholds: Thresholds): Condition[] {
  const found: Condition[] = [];
  for (const channel of facts.channels) ofChannel(channel, found);
  ofDisk(facts, thresholds, found);
  for (const certificate of facts.certificates) ofCertificate(certificate, facts.wallMs, thresholds, found);
  ofClock(facts, found);
  for (const limit of facts.limits) ofLimit(limit, thresholds, found);
  for (const [process, times] of Object.entries(facts.died)) {
    if (times === 0) continue;
    found.push({
      event: 'process-died',
      subject: process,
      severity: 'critical',
      summary: `A ${process} process died and was restarted (${times === 1 ? 'once' : `${times} times`} recently)`,
      fields: { process, times },
    });
  }
  return found;
}

function ofChannel(facts: ChannelCondition, found: Condition[]): void {
  const { key, station, missingMs, isSilence, lost, lostOwner, onAir, titleAgeMs, maxTitleAgeMs } = facts;
  const about = { subject: key, channel: key } as const;
  const fields = { station, onAir: onAir?.kind ?? null };
  if (missingMs > 0) {
    const silentSeconds = Math.round(missingMs / 1000);
    const summary = `Channel ${key} has no audio`;
    found.push({ event: 'no-audio', ...about, severity: 'critical', summary, fields: { ...fields, silentSeconds } });
  }
  if (lost !== null) {
    const summary = `Channel ${key}: its first source (${lost}) is not on air; ${onAir === null ? 'nothing' : `a ${onAir.kind} source`} is`;
    found.push({ event: 'source-lost', ...about, severity: 'warning', summary, fields: { ...fields, lost } });
  }
  if (lostOwner !== '') {
    const summary = `Channel ${key}: no audio arrives from machine ${lostOwner}, which feeds it`;
    found.push({ event: 'tape-lost', ...about, severity: 'critical', summary, fields: { ...fields, node: lostOwner } });
  }
  if (isSilence && onAir !== null) {
    const summary = `Channel ${key}: its ${onAir.kind} source sends digital silence`;
    found.push({ event: 'silence', ...about, severity: 'critical', summary, fields });
  }
  if (onAir !== null && onAir.offKbps !== null) {
    const measuredKbps = Math.round(onAir.offKbps);
    const summary = `Channel ${key}: its ${onAir.kind} source sends ${measuredKbps} kb/s, not the expected bitrate`;
    found.push({ event: 'bitrate-off', ...about, severity: 'warning', summary, fields: { ...fields, measuredKbps } });
  }
  if (maxTitleAgeMs > 0 && titleAgeMs >= maxTitleAgeMs) {
    const minutes = Math.floor(maxTitleAgeMs / 60_000);
    const summary = `Channel ${key} has had no title for ${minutes} minutes`;
    found.push({ event: 'no-titles', ...about, severity: 'warning', summary, fields: { ...fields, minutes } });
  }
}

function ofLimit({ limit, channel, count, most }: LimitFacts, { limitPercent }: Thresholds, found: Condition[]): void {
  if (count * 100 < most * limitPercent) return;
  const isChannels = channel !== undefined;
  found.push({
    // A channel's key may be the name of a limit.
    event: 'limit-near',
    subject: isChannels ? `${limit} of ${channel}` : limit,
    ...(isChannels && { channel }),
    severity: count >= most ? 'critical' : 'warning',
    summary: `${isChannels ? `Channel ${channel}: ` : 'limits.'}${limit}: ${count} of ${most} in use`,
    fields: { limit, count, most },
  });
}

function ofCertificate(
  { address, expiresMs, lifeMs, isOwn, problem }: CertificateFacts,
  wallMs: number,
  { certificateDays }: Thresholds,
  found: Condition[],
): void {
  const one = { event: 'certificate', subject: address } as const;
  // An authority's text may be in any script.
  const reason = problem === null ? null : problem.replace(/[^ -~]/g, '?');
  const own = isOwn && { problem: reason };
  if (expiresMs === null) {
    const summary = `No certificate for ${address}: TLS is refused`;
    found.push({ ...one, severity: 'critical', summary, fields: { address, expires: null, daysLeft: null, ...own } });
    return;
  }
  const leftMs = expiresMs - wallMs;
  const days = Math.floor(leftMs / DAY_MS);
  if (isOwn ? leftMs >= lifeMs * LAST_PART : days >= certificateDays) return;
  const expires = new Date(expiresMs).toISOString();
  const when = leftMs > 0 ? `expires in ${days} days` : 'has expired';
  const summary = `The certificate of ${address} ${when} (${expires})${isOwn ? ', and has not been renewed' : ''}`;
  const fields = { address, expires, daysLeft: days, ...own };
  found.push({ ...one, severity: days < 3 ? 'critical' : 'warning', summary, fields });
}

function ofClock({ skewMs }: AlertFacts, found: Condition[]): void {
  if (Math.abs(skewMs) < WRONG_CLOCK_MS) return;
  const aheadSeconds = Math.round(skewMs / 100) / 10;
  const off = `${Math.abs(aheadSeconds)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the clock of the cluster`;
  const summary = `The clock of this machine is ${off}`;
  found.push({ event: 'clock-wrong', subject: '', severity: 'warning', summary, fields: { aheadSeconds } });
}

function ofDisk(
  { storeFault, hlsFaults, slowestSaveMs, freeBytes }: AlertFacts,
  { slowSaveMs, freeMegabytes }: Thresholds,
  found: Condition[],
): void {
  const one = { subject: '', severity: 'critical' } as const;
  if (storeFault !== null) {
    const summary = 'The store cannot be used: titles are refused';
    found.push({ event: 'store-fault', ...one, summary, fields: { reason: storeFault } });
  }
  const [reason] = hlsFaults.values();
  if (reason !== undefined) {
    const count = hlsFaults.size;
    const summary = `HLS segments cannot be written (${count} ${count === 1 ? 'channel' : 'channels'}): ${reason}`;
    found.push({ event: 'hls-unwritten', ...one, severity: 'warning', summary, fields: { reason, channels: count } });
  }
  if (slowestSaveMs >= slowSaveMs) {
    const tookMs = Math.round(slowestSaveMs);
    const summary = `The disk of the data folder is slow: a title waited for ${tookMs} ms`;
    found.push({ event: 'disk-slow', ...one, severity: 'warning', summary, fields: { tookMs } });
  }
  if (freeBytes !== null && freeBytes < freeMegabytes * MEGABYTE) {
    const free = Math.floor(freeBytes / MEGABYTE);
    const summary = `The disk of the data folder is almost full: ${free} MB left`;
    found.push({ event: 'disk-full', ...one, summary, fields: { freeMegabytes: free } });
  }
}
